"""Tokenisers, pipelines and filters that are built from registries, configs and small classes."""

import functools
import itertools
import random
from collections import Counter, deque
from dataclasses import asdict, dataclass, replace

import numpy as np
import paddle
import paddle.nn.functional as F
from paddle import nn

from corpus.realistic import attempt, program

T = paddle.to_tensor


@program
def pair_merges_to_batches(convert):
    """Byte pair merges learned from a text, encoded, padded, masked and pooled by a model."""

    class Tokenizer:
        PAD, UNK = 0, 1

        def __init__(self, corpus, merges=5):
            words = Counter(tuple(w) + ("_",) for w in corpus.split())
            self.merges = []
            for _ in range(merges):
                pairs = Counter()
                for word, count in words.items():
                    for pair in zip(word, word[1:]):
                        pairs[pair] += count
                if not pairs:
                    break
                best = max(sorted(pairs), key=pairs.__getitem__)
                self.merges.append(best)
                words = Counter({self.apply(w, best): c for w, c in words.items()})
            symbols = sorted({s for w in words for s in w} | set(corpus) - {" "} | {"_"})
            self.vocab = {s: i + 2 for i, s in enumerate(symbols)}

        @staticmethod
        def apply(word, pair):
            out, i = [], 0
            while i < len(word):
                if tuple(word[i : i + 2]) == pair:
                    out.append("".join(pair))
                    i += 2
                else:
                    out.append(word[i])
                    i += 1
            return tuple(out)

        @functools.lru_cache(maxsize=None)
        def encode_word(self, word):
            parts = tuple(word) + ("_",)
            for pair in self.merges:
                parts = self.apply(parts, pair)
            return [self.vocab.get(p, self.UNK) for p in parts]

        def __call__(self, texts, max_len=8):
            rows = [
                list(itertools.chain.from_iterable(map(self.encode_word, t.split())))[:max_len]
                for t in texts
            ]
            width = max(map(len, rows))
            ids = T([r + [self.PAD] * (width - len(r)) for r in rows])
            return {"input_ids": ids, "attention_mask": (ids != self.PAD).astype("float32")}

    class Encoder(nn.Layer):
        def __init__(self, vocab, dim=4, pooling="mean"):
            super().__init__()
            self.embed = nn.Embedding(vocab, dim, padding_idx=0)
            self.pooling = pooling

        def forward(self, input_ids, attention_mask=None):
            h = self.embed(input_ids)
            if attention_mask is None:
                attention_mask = paddle.ones(input_ids.shape)
            mask = attention_mask.unsqueeze(-1)
            match self.pooling:
                case "mean":
                    return (h * mask).sum(1) / mask.sum(1)
                case "max":
                    return paddle.where(mask > 0, h, paddle.full_like(h, -1e9)).max(1)
                case other:
                    raise KeyError(other)

    paddle.seed(0)
    tokenizer = Tokenizer("low lower lowest new newer newest wide wider")
    encoder = Encoder(40)

    @convert
    def similarity(a, b, margin=0.2):
        ea, eb = encoder(**tokenizer(a)), encoder(**tokenizer(b))
        scores = F.normalize(ea) @ F.normalize(eb).t()
        n = scores.shape[0]
        loss = paddle.zeros([])
        hard = []
        for i in range(n):
            negatives = [scores[i, j] for j in range(n) if j != i]
            worst = functools.reduce(paddle.maximum, negatives)
            if worst + margin > scores[i, i]:
                loss = loss + worst + margin - scores[i, i]
                hard.append(i)
        return scores, loss, hard

    yield tokenizer.merges
    yield similarity(["low newer", "wide"], ["lower new", "wider"])
    yield similarity(["newest", "low low"], ["new", "zebra low"])
    encoder.pooling = "max"
    yield similarity(["newest", "low low"], ["new", "zebra low"])
    encoder.pooling = "median"
    yield attempt(lambda: similarity(["newest", "low low"], ["new", "zebra low"]))


@program
def augmentations_from_a_registry(convert):
    """Transforms from a config: erase, flip, jitter and mix, with chances from a seeded source."""

    REGISTRY = {}

    def register(name=None):
        def wrap(cls):
            REGISTRY[name or cls.__name__.lower()] = cls
            return cls

        return wrap

    class Transform:
        p = 1.0

        def __init__(self, **options):
            for k, v in options.items():
                if not hasattr(type(self), k):
                    raise TypeError(f"{type(self).__name__} has no option {k!r}")
                setattr(self, k, v)

        def __call__(self, image, rng):
            return self.apply(image, rng) if rng.random() < self.p else image

        def __repr__(self):
            return f"{type(self).__name__}(p={self.p})"

    @register()
    class Flip(Transform):
        p = 0.5

        def apply(self, image, rng):
            return image.flip(-1)

    @register("jitter")
    class BrightnessJitter(Transform):
        strength = 0.2

        def apply(self, image, rng):
            out = image * (1 + rng.uniform(-self.strength, self.strength))
            if out.max() > 1:
                out = out / out.max()
            return out

    @register()
    class Erase(Transform):
        size = 2
        fill = "mean"

        def apply(self, image, rng):
            h, w = image.shape[-2:]
            y, x = rng.randrange(h - self.size + 1), rng.randrange(w - self.size + 1)
            out = image.clone()
            value = image.mean() if self.fill == "mean" else float(self.fill)
            out[..., y : y + self.size, x : x + self.size] = value
            return out

    class Compose:
        def __init__(self, config, seed=0):
            self.steps = [REGISTRY[c.pop("type")](**c) for c in map(dict, config)]
            self.rng = random.Random(seed)

        def __call__(self, image):
            for step in self.steps:
                image = step(image, self.rng)
            return image

    @convert
    def batch_of(pipeline, images, labels, alpha=None, classes=3):
        out = paddle.stack([pipeline(im) for im in images])
        target = F.one_hot(labels, classes)
        if alpha is not None:
            lam = max(alpha, 1 - alpha)
            order = list(range(1, len(images))) + [0]
            index = T(order)
            out = lam * out + (1 - lam) * out[index]
            target = lam * target + (1 - lam) * target[index]
        return out, target

    config = [{"type": "flip"}, {"type": "jitter", "strength": 0.9}, {"type": "erase", "p": 0.8}]
    pipeline = Compose(config)
    rng = np.random.RandomState(0)
    yield repr(pipeline.steps)
    for alpha in (None, 0.3, None):
        images = T(rng.rand(3, 1, 3, 3).astype("float32"))
        yield batch_of(pipeline, images, T([0, 2, 1]), alpha)
    yield attempt(lambda: Compose([{"type": "flip", "angle": 3}]))
    other = Compose([{"type": "erase", "fill": "0.5"}], seed=3)
    yield batch_of(other, T(rng.rand(2, 1, 3, 3).astype("float32")), T([0, 1]))


@program
def polygons_clipped_and_hulled(convert):
    """A monotone chain hull, clipping by half planes, areas, and points inside by ray casting."""

    class Polygon:
        def __init__(self, points):
            self.points = list(points)

        def __len__(self):
            return len(self.points)

        def __iter__(self):
            return zip(self.points, self.points[1:] + self.points[:1])

        @property
        def area(self):
            if len(self) < 3:
                return paddle.zeros([])
            return 0.5 * sum(a[0] * b[1] - a[1] * b[0] for a, b in self)

        def contains(self, q):
            inside = False
            for a, b in self:
                if (a[1] > q[1]) != (b[1] > q[1]):
                    x = a[0] + (q[1] - a[1]) * (b[0] - a[0]) / (b[1] - a[1])
                    if q[0] < x:
                        inside = not inside
            return inside

    def cross(o, a, b):
        return (a[0] - o[0]) * (b[1] - o[1]) - (a[1] - o[1]) * (b[0] - o[0])

    @convert
    def hull(points):
        order = paddle.argsort(points[:, 0] * 1e3 + points[:, 1])
        ordered = [points[i] for i in order]

        def chain(sequence):
            out = []
            for p in sequence:
                while len(out) >= 2 and cross(out[-2], out[-1], p) <= 0:
                    out.pop()
                out.append(p)
            return out[:-1]

        return Polygon(chain(ordered) + chain(ordered[::-1]))

    @convert
    def clip(subject, window):
        output = subject.points
        for a, b in window:
            source, output = output, []
            for i, p in enumerate(source):
                before = source[i - 1]
                d_p, d_before = cross(a, b, p), cross(a, b, before)
                if d_p >= 0:
                    if d_before < 0:
                        output.append(before + (p - before) * d_before / (d_before - d_p))
                    output.append(p)
                elif d_before >= 0:
                    output.append(before + (p - before) * d_before / (d_before - d_p))
        return Polygon(output)

    def square(x, y, s):
        corners = [[x, y], [x + s, y], [x + s, y + s], [x, y + s]]
        return Polygon([T(np.array(c, "float32")) for c in corners])

    inside = convert(Polygon.contains)
    rng = np.random.RandomState(0)
    for _ in range(2):
        found = attempt(lambda: hull(T(rng.rand(4, 2).astype("float32"))))
        yield found.points if isinstance(found, Polygon) else found
    for x in (0.5, -0.25, 2.0):
        cut = attempt(lambda: clip(square(x, 0.5, 1.0), square(0.0, 0.0, 1.0)))
        yield (cut.points, cut.area) if isinstance(cut, Polygon) else cut
        yield attempt(lambda: inside(square(0.0, 0.0, 1.0), T([x, 0.5])))


@program
def peaks_pitch_and_gates(convert):
    """Framed pitch by autocorrelation, a gate with hysteresis, and peaks by prominence."""

    @dataclass(frozen=True)
    class Settings:
        rate: int = 100
        frame: int = 20
        hop: int = 10
        low: float = 5.0
        high: float = 25.0
        open_at: float = 0.3
        close_at: float = 0.1

        @property
        def lags(self):
            return range(int(self.rate / self.high), int(self.rate / self.low))

    def frames(x, s):
        for start in range(0, x.shape[0] - s.frame + 1, s.hop):
            yield start / s.rate, x[start : start + s.frame] - x[start : start + s.frame].mean()

    def autocorrelation(f, lag):
        a, b = f[:-lag], f[lag:]
        return (a * b).sum() / ((a**2).sum() * (b**2).sum()).sqrt().clip(min=1e-6)

    @convert
    def pitch(x, s):
        track = []
        gate = False
        for time, f in frames(x, s):
            rms = f.square().mean().sqrt()
            if gate:
                gate = rms > s.close_at
            else:
                gate = rms > s.open_at
            if not gate:
                track.append((time, None, T(0.0)))
                continue
            r = paddle.stack([autocorrelation(f, lag) for lag in s.lags])
            best = r.argmax()
            k = best + s.lags[0]
            shift = T(0.0)
            if best > 0 and best < len(s.lags) - 1:
                left, mid, right = r[best - 1], r[best], r[best + 1]
                curve = left - 2 * mid + right
                if curve < 0:
                    shift = 0.5 * (left - right) / curve
            track.append((time, s.rate / (k + shift), r[best]))
        return track

    @convert
    def peaks(x, prominence=0.2, distance=2):
        found = []
        for i in range(1, x.shape[0] - 1):
            if not (x[i] > x[i - 1] and x[i] >= x[i + 1]):
                continue
            base = paddle.maximum(x[:i].min(), x[i + 1 :].min())
            if x[i] - base < prominence:
                continue
            if found and i - found[-1] < distance:
                if x[i] > x[found[-1]]:
                    found[-1] = i
                continue
            found.append(i)
        return found

    s = Settings()
    t = np.arange(50) / s.rate
    for hz, envelope in ((10.0, np.ones(50)), (8.0, np.exp(-5 * t)), (20.0, t > 0.2)):
        wave = (np.sin(2 * np.pi * hz * t) * envelope).astype("float32")
        yield attempt(lambda: pitch(T(wave), s))
    yield asdict(s), replace(s, hop=20).hop
    yield attempt(lambda: pitch(T(wave), replace(s, hop=20, open_at=0.9)))
    for seed in (0, 1):
        yield attempt(lambda: peaks(T(np.random.RandomState(seed).rand(6).astype("float32"))))


@program
def kalman_with_gating(convert):
    """A Kalman filter with gated measurements, missing ones, adaptive noise and a smoother."""

    class GatedKalman:
        def __init__(self, dt=1.0, q=0.05, r=0.2, gate=6.0):
            self.F = T([[1.0, dt], [0.0, 1.0]])
            self.H = T([[1.0, 0.0]])
            self.Q = q * paddle.eye(2)
            self.R = r * paddle.eye(1)
            self.gate = gate
            self.recent = deque(maxlen=2)
            self.stats = Counter()

        def predict(self, x, P):
            return self.F @ x, self.F @ P @ self.F.t() + self.Q

        def update(self, x, P, z):
            if z is None:
                self.stats["missing"] += 1
                return x, P
            y = z.reshape([1, 1]) - self.H @ x
            S = self.H @ P @ self.H.t() + self.R
            d2 = (y.t() @ paddle.inverse(S) @ y).squeeze()
            if d2 > self.gate:
                self.stats["gated"] += 1
                return x, P * 1.5
            K = P @ self.H.t() @ paddle.inverse(S)
            self.recent.append(y.squeeze())
            if len(self.recent) == self.recent.maxlen:
                spread = paddle.stack(list(self.recent)).var()
                if spread > 0.5:
                    self.R = self.R * 1.1
            self.stats["used"] += 1
            return x + K @ y, (paddle.eye(2) - K @ self.H) @ P

        def run(self, zs):
            x, P = paddle.zeros([2, 1]), paddle.eye(2)
            filtered = []
            for z in zs:
                xp, Pp = self.predict(x, P)
                x, P = self.update(xp, Pp, z)
                filtered.append((xp, Pp, x, P))
            smooth = [filtered[-1][2]]
            for (_, _, x, P), (xp, Pp, _, _) in zip(filtered[-2::-1], filtered[:0:-1]):
                C = P @ self.F.t() @ paddle.inverse(Pp)
                smooth.append(x + C @ (smooth[-1] - xp))
            return paddle.concat(smooth[::-1], axis=1), self.stats

    kalman = GatedKalman()
    run = convert(kalman.run)
    for zs in ([0.1, 1.2, None, 3.1], [0.0, 9.0, 2.0, 3.0], [None, 1.0, -1.0, 1.5]):
        out = attempt(lambda: run([z if z is None else T(z) for z in zs]))
        yield out, dict(kalman.stats), kalman.R, list(kalman.recent)


@program
def schema_driven_network(convert):
    """A network from a config of blocks with names, skips, gates and exits that are confident."""

    @dataclass
    class Block:
        name: str
        width: int
        skip: bool = False
        gate: float | None = None
        exit_at: float | None = None

    class Network(nn.Layer):
        def __init__(self, blocks, classes=3, dim=4):
            super().__init__()
            self.blocks = blocks
            self.layers = nn.LayerDict({b.name: nn.Linear(dim, b.width) for b in blocks})
            self.heads = nn.LayerDict(
                {b.name: nn.Linear(b.width, classes) for b in blocks if b.exit_at is not None}
            )
            self.final = nn.Linear(blocks[-1].width, classes)
            self.used = Counter()

        def run_block(self, block, x):
            y = F.relu(self.layers[block.name](x))
            if block.gate is not None:
                strength = F.sigmoid(y.mean())
                if strength < block.gate:
                    self.used[f"{block.name}:closed"] += 1
                    return x
                y = y * strength
            return x + y if block.skip else y

        def forward(self, x, trace=False):
            seen = {}
            for block in self.blocks:
                x = self.run_block(block, x)
                if trace:
                    seen[block.name] = x.norm()
                if block.exit_at is not None:
                    p = F.softmax(self.heads[block.name](x), -1)
                    if p.max(-1).min() > block.exit_at:
                        self.used[block.name] += 1
                        return (p, block.name, seen) if trace else p
            self.used["final"] += 1
            p = F.softmax(self.final(x), -1)
            return (p, "final", seen) if trace else p

    paddle.seed(3)
    config = [
        {"name": "stem", "width": 4, "exit_at": 0.5},
        {"name": "mid", "width": 4, "skip": True, "gate": 0.55},
        {"name": "top", "width": 4, "skip": True, "exit_at": 0.6},
    ]
    net = Network([Block(**c) for c in config])
    forward = convert(net.forward)
    rng = np.random.RandomState(0)
    for scale in (0.1, 1.0, 5.0, 0.5):
        x = T(scale * rng.randn(2, 4).astype("float32"))
        x.stop_gradient = False
        out = attempt(lambda: forward(x))
        yield out, dict(net.used)
        if isinstance(out, paddle.Tensor):
            (out[:, 0].sum()).backward()
            yield x.grad
        yield attempt(lambda: forward(x, trace=True))
