"""Signals by hand: mel features, phases from magnitudes, sources apart, factors, splines."""

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import paddle
import paddle.nn.functional as F

from corpus.realistic import attempt, program


@program
def cepstra_of_padded_batches(convert):
    """Mel filters, log energies, DCT, lifter and deltas for waves of different length, with masks."""

    @dataclass(frozen=True)
    class Settings:
        rate: int = 800
        frame: int = 32
        hop: int = 16
        mels: int = 6
        ceps: int = 4
        preemphasis: float = 0.97
        lifter: int = 8
        top_db: float = 40.0

    def hz_to_mel(f):
        return 2595.0 * np.log10(1.0 + f / 700.0)

    def mel_to_hz(m):
        return 700.0 * (10.0 ** (m / 2595.0) - 1.0)

    @lru_cache(maxsize=None)
    def filterbank(cfg):
        bins = cfg.frame // 2 + 1
        freqs = np.linspace(0, cfg.rate / 2, bins)
        edges = mel_to_hz(np.linspace(hz_to_mel(20.0), hz_to_mel(cfg.rate / 2), cfg.mels + 2))
        bank = np.zeros((cfg.mels, bins))
        for m in range(cfg.mels):
            left, center, right = edges[m : m + 3]
            up = (freqs - left) / (center - left)
            down = (right - freqs) / (right - center)
            bank[m] = np.maximum(0, np.minimum(up, down))
        return paddle.to_tensor(bank.astype("float32"))

    @lru_cache(maxsize=None)
    def dct(cfg):
        n = np.arange(cfg.mels)
        basis = np.cos(np.pi / cfg.mels * (n + 0.5)[None] * np.arange(cfg.ceps)[:, None])
        basis[0] *= 1 / math.sqrt(2)
        return paddle.to_tensor((basis * math.sqrt(2 / cfg.mels)).astype("float32"))

    class Extractor:
        def __init__(self, cfg):
            self.cfg = cfg
            self.window = paddle.to_tensor(np.hanning(cfg.frame).astype("float32"))
            self.mean = paddle.zeros([cfg.ceps])
            self.seen = 0

        def frames(self, wave):
            cfg = self.cfg
            wave = paddle.concat([wave[:1], wave[1:] - cfg.preemphasis * wave[:-1]])
            if wave.shape[0] < cfg.frame:
                wave = F.pad(wave.unsqueeze(0), [0, cfg.frame - wave.shape[0]]).squeeze(0)
            count = 1 + (wave.shape[0] - cfg.frame) // cfg.hop
            index = paddle.arange(cfg.frame).unsqueeze(0) + cfg.hop * paddle.arange(
                count
            ).unsqueeze(1)
            return wave[index] * self.window

        def mfcc(self, wave):
            cfg = self.cfg
            spectrum = paddle.fft.rfft(self.frames(wave))
            power = spectrum.real() ** 2 + spectrum.imag() ** 2
            mel = power @ filterbank(cfg).t()
            log = 10.0 * paddle.log10(mel.clip(min=1e-10))
            log = paddle.maximum(log, log.max() - cfg.top_db)
            ceps = log @ dct(cfg).t()
            if cfg.lifter > 0:
                n = paddle.arange(cfg.ceps).astype("float32")
                ceps = ceps * (1 + cfg.lifter / 2 * paddle.sin(math.pi * n / cfg.lifter))
            return ceps

        @staticmethod
        def deltas(x, width=2):
            padded = paddle.concat([x[:1]] * width + [x] + [x[-1:]] * width)
            top = 0
            for k in range(1, width + 1):
                ahead = padded[width + k : width + k + x.shape[0]]
                behind = padded[width - k : width - k + x.shape[0]]
                top = top + k * (ahead - behind)
            return top / (2 * sum(k * k for k in range(1, width + 1)))

        @convert
        def batch(self, waves, update=True):
            features = []
            for wave in waves:
                if wave.abs().max() == 0:
                    raise ValueError("a wave is silent")
                c = self.mfcc(wave)
                if update:
                    self.seen += c.shape[0]
                    self.mean = self.mean + (c - self.mean).sum(axis=0) / self.seen
                features.append(paddle.concat([c - self.mean, self.deltas(c)], axis=1))
            longest = max(f.shape[0] for f in features)
            mask = paddle.zeros([len(features), longest], dtype="bool")
            out = []
            for i, f in enumerate(features):
                mask[i, : f.shape[0]] = True
                out.append(F.pad(f.unsqueeze(0), [0, longest - f.shape[0]], data_format="NLC")[0])
            return paddle.stack(out), mask

    rng = np.random.RandomState(1)
    extractor = Extractor(Settings())
    for lengths in ((64, 100), (20, 50, 90), (64, 100)):
        waves = []
        for n in lengths:
            t = np.arange(n) / 800
            tone = np.sin(2 * np.pi * rng.randint(50, 300) * t) + 0.1 * rng.randn(n)
            waves.append(paddle.to_tensor(tone.astype("float32")))
        yield extractor.batch(waves)
        yield extractor.mean, extractor.seen
    yield extractor.batch(waves[:1], update=False)
    yield attempt(lambda: extractor.batch([paddle.zeros([40])]))


@program
def phases_from_magnitudes(convert):
    """Griffin and Lim with momentum: iterations until the spectral convergence stalls."""

    class Stft:
        def __init__(self, n_fft=16, hop=8):
            self.n_fft, self.hop = n_fft, hop
            self.window = paddle.to_tensor(np.hanning(n_fft + 1)[:-1].astype("float32"))

        def forward(self, x):
            return paddle.signal.stft(x.unsqueeze(0), self.n_fft, self.hop, window=self.window)[0]

        def inverse(self, spec, length):
            return paddle.signal.istft(
                spec.unsqueeze(0), self.n_fft, self.hop, window=self.window, length=length
            )[0]

    @convert
    def griffin_lim(stft, magnitude, angles, length, momentum=0.9, limit=12, patience=2, tol=1e-3):
        previous = paddle.zeros_like(angles)
        best, stalled, used = None, 0, 0
        for used in range(1, limit + 1):
            wave = stft.inverse(magnitude.astype("complex64") * angles, length)
            rebuilt = stft.forward(wave)
            error = paddle.linalg.norm(rebuilt.abs() - magnitude) / paddle.linalg.norm(magnitude)
            if best is None or error < best - tol:
                best, stalled = error, 0
            else:
                stalled += 1
                if stalled >= patience:
                    break
            update = rebuilt - momentum / (1 + momentum) * previous
            previous = rebuilt
            angles = update / (update.abs() + 1e-8).astype("complex64")
        return wave, best, used

    rng = np.random.RandomState(9)
    stft = Stft()
    for n, momentum in ((64, 0.9), (64, 0.0), (96, 0.5)):
        t = np.arange(n)
        signal = np.sin(0.4 * t) + 0.5 * np.sin(1.1 * t + 0.3)
        magnitude = stft.forward(paddle.to_tensor(signal.astype("float32"))).abs()
        phase = rng.uniform(-np.pi, np.pi, magnitude.shape)
        angles = paddle.to_tensor(np.exp(1j * phase).astype("complex64"))
        yield griffin_lim(stft, magnitude, angles, n, momentum)
    yield griffin_lim(stft, magnitude, angles, n, limit=3)


@program
def sources_apart_by_fast_ica(convert):
    """Whitening, one component after another, restarts for those that do not converge."""

    class NotConverged(RuntimeError):
        pass

    CONTRASTS = {
        "logcosh": lambda u: (paddle.tanh(u), (1 - paddle.tanh(u) ** 2).mean()),
        "exp": lambda u: (
            u * paddle.exp(-(u**2) / 2),
            ((1 - u**2) * paddle.exp(-(u**2) / 2)).mean(),
        ),
        "cube": lambda u: (u**3, (3 * u**2).mean()),
    }

    @convert
    def whiten(x):
        x = x - x.mean(axis=1, keepdim=True)
        cov = x @ x.t() / x.shape[1]
        values, vectors = paddle.linalg.eigh(cov)
        if values.min() < 1e-8:
            raise ValueError(f"rank deficient: smallest eigenvalue {float(values.min()):.1e}")
        # signs of eigenvectors are free: the largest entry shall be positive
        for k in range(vectors.shape[1]):
            if vectors[vectors[:, k].abs().argmax(), k] < 0:
                vectors[:, k] = -vectors[:, k]
        return (vectors / values.sqrt()).t() @ x

    @convert
    def fast_ica(z, starts, contrast="logcosh", limit=25, tol=1e-4):
        g = CONTRASTS[contrast]
        rows, log = [], []
        for k in range(z.shape[0]):
            for attempt_no, start in enumerate(starts):
                w = start / start.norm()
                converged = False
                for it in range(limit):
                    u = w @ z
                    gu, dgu = g(u)
                    new = (z * gu).mean(axis=1) - dgu * w
                    for row in rows:
                        new = new - (new * row).sum() * row
                    size = new.norm()
                    if size < 1e-6:
                        break
                    new = new / size
                    converged = bool(((new * w).sum().abs() - 1).abs() < tol)
                    w = new
                    if converged:
                        break
                if converged:
                    log.append({"component": k, "restarts": attempt_no, "iterations": it + 1})
                    rows.append(w)
                    break
            else:
                raise NotConverged(f"component {k} after {len(starts)} starts")
        return paddle.stack(rows), log

    rng = np.random.RandomState(4)
    for n, contrast in ((60, "logcosh"), (80, "cube"), (60, "exp")):
        t = np.linspace(0, 6, n)
        sources = np.stack([np.sign(np.sin(3 * t)), rng.uniform(-1, 1, n)])
        mixed = np.array([[1.0, 0.6], [0.4, 1.0]]) @ sources
        z = whiten(paddle.to_tensor(mixed.astype("float32")))
        starts = [paddle.to_tensor(rng.randn(2).astype("float32")) for _ in range(3)]
        yield z
        yield fast_ica(z, starts, contrast)
    yield attempt(lambda: fast_ica(z, starts, limit=1))
    yield attempt(lambda: whiten(paddle.ones([2, 5])))


@program
def nonnegative_factors_of_a_spectrogram(convert):
    """Multiplicative updates for three divergences, sparsity, pruning of dead components."""

    class Factorizer:
        def __init__(self, rank, beta=2.0, sparsity=0.0, limit=15, tol=1e-3):
            self.rank, self.beta, self.sparsity = rank, beta, sparsity
            self.limit, self.tol = limit, tol
            self.history = []

        def divergence(self, v, wh):
            if self.beta == 2:
                return 0.5 * ((v - wh) ** 2).sum()
            if self.beta == 1:
                return (v * paddle.log((v + 1e-9) / wh) - v + wh).sum()
            ratio = (v + 1e-9) / wh
            return (ratio - ratio.log() - 1).sum()

        def update(self, v, w, h):
            b = self.beta
            wh = w @ h + 1e-9
            h = h * (w.t() @ (v * wh ** (b - 2))) / (w.t() @ wh ** (b - 1) + self.sparsity + 1e-9)
            wh = w @ h + 1e-9
            w = w * ((v * wh ** (b - 2)) @ h.t()) / (wh ** (b - 1) @ h.t() + 1e-9)
            scale = w.sum(axis=0)
            return w / (scale + 1e-9), h * scale.unsqueeze(1)

        @convert
        def fit(self, v, w, h):
            self.history = []
            last = self.divergence(v, w @ h + 1e-9)
            for step in range(self.limit):
                w, h = self.update(v, w, h)
                if step % 3 == 2:
                    now = self.divergence(v, w @ h + 1e-9)
                    self.history.append(now)
                    if (last - now).abs() / last < self.tol:
                        break
                    last = now
            return w, h, step + 1

        @convert
        def prune(self, w, h, share=0.05):
            energy = h.sum(axis=1)
            alive = energy > share * energy.sum()
            if alive.all():
                return w, h
            return w[:, alive], h[alive]

    rng = np.random.RandomState(11)
    for beta, sparsity in ((2.0, 0.0), (1.0, 0.1), (0.0, 0.0)):
        true = rng.rand(6, 2) @ rng.rand(2, 8) + 0.01
        v = paddle.to_tensor(true.astype("float32"))
        w = paddle.to_tensor(rng.rand(6, 3).astype("float32") + 0.1)
        h = paddle.to_tensor(rng.rand(3, 8).astype("float32") + 0.1)
        model = Factorizer(3, beta, sparsity)
        w, h, steps = model.fit(v, w, h)
        yield w @ h, steps, model.history
        small = paddle.concat([h[:2], h[2:] * 1e-4])
        yield model.prune(w, small), model.prune(w, h)


@program
def curves_of_de_boor(convert):
    """B-splines: a span by bisection, de Boor's triangle, a knot put in, a fit with smoothing."""

    class BSpline:
        def __init__(self, knots, controls, degree=3):
            if len(knots) != len(controls) + degree + 1:
                raise ValueError(
                    f"{len(knots)} knots for {len(controls)} points of degree {degree}"
                )
            self.knots = paddle.to_tensor(knots, dtype="float32")
            self.controls = controls
            self.degree = degree

        def span(self, t):
            low, high = self.degree, self.controls.shape[0]
            if t >= self.knots[high]:
                return high - 1
            while high - low > 1:
                mid = (low + high) // 2
                if t < self.knots[mid]:
                    high = mid
                else:
                    low = mid
            return low

        @convert
        def evaluate(self, t):
            k, p = self.span(t), self.degree
            d = [self.controls[k - p + j] for j in range(p + 1)]
            for r in range(1, p + 1):
                for j in range(p, r - 1, -1):
                    left = self.knots[k - p + j]
                    alpha = (t - left) / (self.knots[j + 1 + k - r] - left)
                    d[j] = (1 - alpha) * d[j - 1] + alpha * d[j]
            return d[p]

        def insert(self, t):
            k, p = int(self.span(t)), self.degree
            points = []
            for i in range(self.controls.shape[0] + 1):
                if i <= k - p:
                    points.append(self.controls[i])
                elif i > k:
                    points.append(self.controls[i - 1])
                else:
                    a = (t - self.knots[i]) / (self.knots[i + p] - self.knots[i])
                    points.append((1 - a) * self.controls[i - 1] + a * self.controls[i])
            knots = sorted([*self.knots.tolist(), float(t)])
            return BSpline(knots, paddle.stack(points), p)

    def basis(t, knots, degree):
        """Cox and de Boor for all functions at once."""
        n = len(knots) - 1
        values = [((t >= knots[i]) & (t < knots[i + 1])).astype("float32") for i in range(n)]
        for p in range(1, degree + 1):
            new = []
            for i in range(n - p):
                total = paddle.zeros_like(t)
                if knots[i + p] > knots[i]:
                    total += (t - knots[i]) / (knots[i + p] - knots[i]) * values[i]
                if knots[i + p + 1] > knots[i + 1]:
                    span = knots[i + p + 1] - knots[i + 1]
                    total += (knots[i + p + 1] - t) / span * values[i + 1]
                new.append(total)
            values = new
        return paddle.stack(values, axis=1)

    @convert
    def fit(t, y, knots, degree=3, smooth=0.1):
        b = basis(t, knots, degree)
        n = b.shape[1]
        d2 = paddle.eye(n)[2:] - 2 * paddle.eye(n)[1:-1] + paddle.eye(n)[:-2]
        normal = b.t() @ b + smooth * d2.t() @ d2
        coefficients = paddle.linalg.solve(normal, b.t() @ y.unsqueeze(1)).squeeze(1)
        residual = y - b @ coefficients
        worst = residual.abs().argmax()
        if residual[worst].abs() > 0.5:
            return coefficients, f"refit: outlier at {float(t[worst]):.2f}"
        return coefficients, "ok"

    rng = np.random.RandomState(14)
    knots = [0, 0, 0, 0, 0.3, 0.7, 1, 1, 1, 1]
    controls = paddle.to_tensor(rng.randn(6, 2).astype("float32"))
    curve = BSpline(knots, controls)
    finer = curve.insert(paddle.to_tensor(0.5))
    for t in (0.0, 0.25, 0.3, 0.69, 1.0):
        yield curve.evaluate(paddle.to_tensor(t)), finer.evaluate(paddle.to_tensor(t))
    for n, noise in ((12, 0.05), (20, 0.05), (12, 2.0)):
        t = np.linspace(0, 0.99, n)
        y = np.sin(5 * t) + noise * (np.arange(n) == n // 2)
        yield fit(
            paddle.to_tensor(t.astype("float32")), paddle.to_tensor(y.astype("float32")), knots
        )
    yield attempt(lambda: BSpline(knots, controls[:4]))
