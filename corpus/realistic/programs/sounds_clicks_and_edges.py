"""Frames of sound, clicks of users, edges of graphs, and numbers over time."""

import math
from collections import deque, namedtuple
from dataclasses import dataclass
from functools import lru_cache
from typing import List, Optional

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import attempt, program


@program
def frames_and_speech_segments(convert):
    """A front end by hand: pre-emphasis, framing, DFT matrix, mel banks, energy VAD with segments."""

    @lru_cache(maxsize=None)
    def dft(n_fft):
        k = np.arange(n_fft // 2 + 1)[:, None] * np.arange(n_fft)[None]
        angle = -2 * np.pi * k / n_fft
        return (
            paddle.to_tensor(np.cos(angle).astype("float32")),
            paddle.to_tensor(np.sin(angle).astype("float32")),
        )

    def mel_bank(n_mels, n_fft, sr):
        to_mel = lambda f: 2595 * math.log10(1 + f / 700)  # noqa: E731
        mels = np.linspace(0, to_mel(sr / 2), n_mels + 2)
        hz = 700 * (10 ** (mels / 2595) - 1)
        bins = hz * n_fft / sr
        bank = np.zeros((n_mels, n_fft // 2 + 1), "float32")
        for m in range(n_mels):
            left, mid, right = bins[m : m + 3]
            for k in range(bank.shape[1]):
                bank[m, k] = max(0.0, min((k - left) / (mid - left), (right - k) / (right - mid)))
        return bank

    class FrontEnd(nn.Layer):
        def __init__(self, sr=160, n_fft=16, hop=8, n_mels=4, preemph=0.97):
            super().__init__()
            self.sr, self.n_fft, self.hop, self.preemph = sr, n_fft, hop, preemph
            window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(n_fft) / n_fft)
            self.register_buffer("window", paddle.to_tensor(window.astype("float32")))
            self.register_buffer("mel", paddle.to_tensor(mel_bank(n_mels, n_fft, sr)))
            self.register_buffer("floor", paddle.to_tensor(1.0))

        def frames(self, wav):
            wav = paddle.concat(x=[wav[:1], wav[1:] - self.preemph * wav[:-1]])
            n = wav.shape[0]
            if n < self.n_fft:
                wav = F.pad(wav, [0, self.n_fft - n], value=0.0)
                n = self.n_fft
            starts = range(0, n - self.n_fft + 1, self.hop)
            return paddle.stack([wav[s : s + self.n_fft] for s in starts]) * self.window

        @convert
        def forward(self, wav):
            frames = self.frames(wav)
            cos, sin = dft(self.n_fft)
            power = (frames @ cos.T) ** 2 + (frames @ sin.T) ** 2
            feats = paddle.log(power @ self.mel.T + 1e-6)
            feats -= feats.mean(axis=0, keepdim=True)
            std = feats.std(axis=0)
            if feats.shape[0] > 1 and bool((std > 1e-3).all()):
                feats = feats / std
            return feats, power.sum(axis=-1)

        @convert
        def segments(self, energy, ratio=3.0, hang=2, min_len=2):
            """(start, end) in seconds."""
            floor = self.floor.clone()
            spans, start, quiet = [], None, 0
            for t in range(energy.shape[0]):
                e = energy[t]
                if e > ratio * floor:
                    if start is None:
                        start = t
                    quiet = 0
                else:
                    floor = 0.9 * floor + 0.1 * e
                    quiet += 1
                    if start is not None and quiet > hang:
                        if t - quiet + 1 - start >= min_len:
                            spans.append((start, t - quiet + 1))
                        start = None
            if start is not None:
                spans.append((start, energy.shape[0]))
            self.floor.set_value(floor)
            return [(s * self.hop / self.sr, e * self.hop / self.sr) for s, e in spans]

    front = FrontEnd()
    rng = np.random.RandomState(0)
    for n, loud in [(120, (40, 90)), (160, (10, 30)), (12, (0, 12)), (160, (0, 0))]:
        wav = 0.05 * rng.randn(n)
        wav[loud[0] : loud[1]] += np.sin(0.7 * np.arange(loud[1] - loud[0]))
        feats, energy = front(paddle.to_tensor(wav.astype("float32")))
        yield feats, energy
        spans = front.segments(energy)
        print("; ".join(f"{s:.2f}-{e:.2f}" for s, e in spans) or "silence")
        yield spans, front.floor


@program
def codec_with_steps_of_four_bits(convert):
    """IMA-like ADPCM: index and predictor as state, codes in a tensor, an SNR, mu-law beside it."""

    INDEX = [-1, -1, -1, -1, 2, 4, 6, 8]

    class Codec:
        def __init__(self, steps=24):
            table = [7]
            while len(table) < steps:
                table.append(int(table[-1] * 1.3) + 1)
            self.steps = paddle.to_tensor(table, dtype="float32")
            self.index_table = paddle.to_tensor(INDEX)
            self.reset()

        def reset(self):
            self.valprev = paddle.to_tensor(0.0)
            self.index = paddle.to_tensor(0)

        def _update(self, code, magnitude, step):
            delta = step / 8
            for bit in (4, 2, 1):
                if (code // bit) % 2 == 1:
                    delta += step * bit / 4
            self.valprev = paddle.clip(
                self.valprev + (delta if magnitude >= 0 else -delta), min=-2000.0, max=2000.0
            )
            self.index = paddle.clip(self.index + self.index_table[code], 0, len(self.steps) - 1)

        @convert
        def encode(self, samples):
            codes = paddle.zeros([len(samples)], dtype="int64")
            for i, sample in enumerate(samples):
                step = self.steps[self.index]
                diff = sample - self.valprev
                sign = 8 if diff < 0 else 0
                diff = diff.abs()
                code = paddle.to_tensor(0)
                for bit in (4, 2, 1):
                    part = step * bit / 4
                    if diff >= part:
                        code = code + bit
                        diff = diff - part
                codes[i] = code + sign
                self._update(code, -1 if sign else 1, step)
            return codes

        @convert
        def decode(self, codes):
            out = []
            for code in codes:
                step = self.steps[self.index]
                self._update(code % 8, -1 if code >= 8 else 1, step)
                out.append(self.valprev)
            return paddle.stack(out)

    @convert
    def mu_law(x, mu=255, inverse=False):
        if inverse:
            y = x.astype("float32") / mu * 2 - 1
            return paddle.sign(y) * ((1 + mu) ** y.abs() - 1) / mu
        y = paddle.sign(x) * paddle.log1p(mu * x.abs()) / math.log1p(mu)
        return ((y + 1) / 2 * mu + 0.5).floor().astype("int64")

    @convert
    def snr(clean, coded):
        noise = ((clean - coded) ** 2).sum()
        if noise < 1e-9:
            return float("inf")
        return (10 * paddle.log10((clean**2).sum() / noise)).item()

    coder, decoder = Codec(), Codec()
    rng = np.random.RandomState(1)
    for n, amp in [(10, 300.0), (14, 900.0), (10, 5.0)]:
        x = amp * np.sin(0.5 * np.arange(n)) + rng.randn(n)
        x = paddle.to_tensor(x.astype("float32"))
        codes = coder.encode(x)
        back = decoder.decode(codes)
        print(f"{n} samples, {snr(x, back):.2f} dB, state {coder.index.item()}")
        yield codes, back
        yield coder.valprev, decoder.valprev, coder.index
        unit = x / 1000.0
        coded = mu_law(unit)
        yield coded, snr(unit, mu_law(coded, inverse=True))
    yield snr(x, x)


@program
def clicks_with_interests(convert):
    """FM plus a DIN-like attention over histories of different lengths, with sampled negatives."""

    Batch = namedtuple("Batch", "user item hist hist_len label")

    class Dice(nn.Layer):
        def __init__(self, dim):
            super().__init__()
            self.alpha = self.create_parameter(
                [dim], default_initializer=nn.initializer.Constant(0.25)
            )
            self.register_buffer("mean", paddle.zeros([dim]))

        def forward(self, x):
            if self.training:
                batch = x.mean(axis=list(range(x.ndim - 1)))
                self.mean.set_value(0.9 * self.mean + 0.1 * batch.detach())
            p = F.sigmoid(x - self.mean)
            return p * x + (1 - p) * self.alpha * x

    class ClickModel(nn.Layer):
        def __init__(self, users, items, dim=4):
            super().__init__()
            self.user = nn.Embedding(users, dim)
            self.item = nn.Embedding(items, dim, padding_idx=0)
            self.att = nn.Sequential(nn.Linear(3 * dim, 4), Dice(4), nn.Linear(4, 1))
            self.bias = self.create_parameter([1], is_bias=True)

        def interest(self, query, hist, hist_len):
            keys = self.item(hist)
            q = query.unsqueeze(1).expand_as(keys)
            w = self.att(paddle.concat([q, keys, q * keys], axis=-1)).squeeze(-1)
            mask = paddle.arange(hist.shape[1]).unsqueeze(0) < hist_len.unsqueeze(1)
            w = paddle.where(mask, w, paddle.full_like(w, -1e9))
            w = F.softmax(w, axis=-1) * (hist_len > 0).astype(w.dtype).unsqueeze(1)
            return (w.unsqueeze(-1) * keys).sum(axis=1)

        def forward(self, batch):
            u, i = self.user(batch.user), self.item(batch.item)
            h = self.interest(i, batch.hist, batch.hist_len)
            fields = paddle.stack(x=[u, i, h], axis=1)
            square_of_sum = fields.sum(axis=1) ** 2
            sum_of_square = (fields**2).sum(axis=1)
            return (0.5 * (square_of_sum - sum_of_square)).sum(-1) + self.bias

    class NegativeSampler:
        def __init__(self, counts, power=0.75, tries=3):
            p = counts.astype("float32") ** power
            self.cdf = paddle.cumsum(p / p.sum())
            self.tries = tries

        def __call__(self, positives, uniforms):
            chosen = paddle.searchsorted(self.cdf, uniforms[0])
            for t in range(1, self.tries):
                clash = chosen == positives
                if not clash.any():
                    break
                chosen = paddle.where(clash, paddle.searchsorted(self.cdf, uniforms[t]), chosen)
            return chosen.clip(max=len(self.cdf) - 1)

    paddle.seed(2)
    model = ClickModel(users=5, items=9)
    opt = paddle.optimizer.Adagrad(learning_rate=0.1, parameters=model.parameters())
    sampler = NegativeSampler(paddle.to_tensor([1, 5, 3, 8, 1, 1, 2, 4, 9]))

    @convert
    def train(batch, uniforms):
        negatives = sampler(batch.item, uniforms)
        doubled = Batch(
            user=paddle.tile(batch.user, [2]),
            item=paddle.concat(x=[batch.item, negatives]),
            hist=paddle.tile(batch.hist, [2, 1]),
            hist_len=paddle.tile(batch.hist_len, [2]),
            label=paddle.concat([batch.label, paddle.zeros_like(batch.label)]),
        )
        logits = model(doubled)
        loss = F.binary_cross_entropy_with_logits(logits, doubled.label)
        loss.backward()
        opt.step()
        opt.clear_grad()
        return loss, negatives

    @convert
    def auc(batch):
        model.eval()
        with paddle.no_grad():
            s = model(batch)
        model.train()
        pos, neg = s[batch.label > 0.5], s[batch.label <= 0.5]
        if len(pos) == 0 or len(neg) == 0:
            return None
        wins = (pos.unsqueeze(1) > neg.unsqueeze(0)).astype("float32").mean()
        return round(wins.item(), 4)

    rng = np.random.RandomState(2)

    def batch_of(n, length, ones=None):
        label = rng.randint(0, 2, n) if ones is None else np.full(n, ones)
        return Batch(
            paddle.to_tensor(rng.randint(0, 5, n)),
            paddle.to_tensor(rng.randint(1, 9, n)),
            paddle.to_tensor(rng.randint(0, 9, (n, length))),
            paddle.to_tensor(rng.randint(0, length + 1, n)),
            paddle.to_tensor(label.astype("float32")),
        )

    for n, length in [(3, 2), (4, 5), (4, 3), (6, 3)]:
        uniforms = [paddle.to_tensor(rng.rand(n).astype("float32")) for _ in range(3)]
        yield train(batch_of(n, length), uniforms)
        yield auc(batch_of(n + 2, length))
    yield auc(batch_of(3, 2, ones=1))
    yield model.item.weight, model.att[1].mean


@program
def molecules_by_passing_messages(convert):
    """A message-passing network over a batch of small graphs: edges, set pooling, DropEdge, readout."""

    @dataclass
    class Graph:
        x: paddle.Tensor
        edge_index: paddle.Tensor
        edge_attr: paddle.Tensor
        y: Optional[float] = None

        @property
        def num_nodes(self):
            return self.x.shape[0]

    class GraphBatch:
        def __init__(self, graphs: List[Graph]):
            offset, xs, edges, attrs, index = 0, [], [], [], []
            for k, g in enumerate(graphs):
                xs.append(g.x)
                edges.append(g.edge_index + offset)
                attrs.append(g.edge_attr)
                index.append(paddle.full([g.num_nodes], k, dtype="int64"))
                offset += g.num_nodes
            self.x, self.edge_index = paddle.concat(xs), paddle.concat(edges, axis=1)
            self.edge_attr, self.index = paddle.concat(attrs), paddle.concat(index)
            self.num_graphs = len(graphs)
            self.y = paddle.to_tensor([g.y for g in graphs])

    def scatter_sum(src, index, size):
        out = paddle.zeros([size, *src.shape[1:]], dtype=src.dtype)
        return paddle.scatter_nd_add(out, index.unsqueeze(-1), src)

    def scatter_mean(src, index, size):
        count = scatter_sum(paddle.ones([src.shape[0], 1]), index, size)
        return scatter_sum(src, index, size) / count.clip(min=1)

    class MPNN(nn.Layer):
        def __init__(self, dim=4, edge_dim=2, rounds=3, aggregate="sum"):
            super().__init__()
            self.message = nn.Linear(dim + edge_dim, dim)
            self.update = nn.GRUCell(dim, dim)
            self.gate, self.out = nn.Linear(dim, 1), nn.Linear(2 * dim, 1)
            self.rounds = rounds
            self.aggregate = {"sum": scatter_sum, "mean": scatter_mean}[aggregate]

        def readout(self, h, index, size):
            score = self.gate(h).squeeze(-1)
            pieces = []
            for k in range(size):
                member = index == k
                if not member.any():
                    pieces.append(paddle.zeros([h.shape[1]]))
                    continue
                alpha = F.softmax(score[member], axis=0)
                pieces.append((alpha.unsqueeze(-1) * h[member]).sum(0))
            return paddle.concat([paddle.stack(pieces), scatter_mean(h, index, size)], axis=-1)

        @convert
        def forward(self, batch, keep=None, tol=1e-2):
            src, dst = batch.edge_index
            attr = batch.edge_attr
            if keep is not None and self.training:
                src, dst, attr = src[keep], dst[keep], attr[keep]
            h = batch.x
            for r in range(self.rounds):
                m = F.relu(self.message(paddle.concat([h[src], attr], axis=-1)))
                agg = self.aggregate(m, dst, h.shape[0])
                new, _ = self.update(agg, h)
                change = (new - h).abs().max()
                h = new
                if change < tol:
                    break
            return self.out(self.readout(h, batch.index, batch.num_graphs)).squeeze(-1), r

    rng = np.random.RandomState(3)

    def random_graph(n, e):
        pairs = rng.randint(0, n, (2, e))
        return Graph(
            paddle.to_tensor(rng.randn(n, 4).astype("float32")),
            paddle.to_tensor(pairs),
            paddle.to_tensor(rng.randn(e, 2).astype("float32")),
            y=float(rng.randn()),
        )

    for aggregate, tol in [("sum", 1e-3), ("mean", 0.8)]:
        paddle.seed(3)
        model = MPNN(aggregate=aggregate)
        opt = paddle.optimizer.SGD(0.05, parameters=model.parameters())
        for sizes in [[(3, 4)], [(3, 4), (2, 2)], [(4, 5), (2, 3), (1, 1)]]:
            batch = GraphBatch([random_graph(*s) for s in sizes])
            keep = paddle.to_tensor(rng.rand(batch.edge_index.shape[1]) < 0.8)
            pred, rounds = model(batch, keep=keep, tol=tol)
            loss = F.l1_loss(pred, batch.y)
            loss.backward()
            opt.step()
            opt.clear_grad()
            yield pred, rounds, loss
        model.eval()
        yield model(batch, keep=keep)


@program
def forecasts_by_moving_states(convert):
    """ARIMA by conditional sums, damped Holt-Winters, Croston, chosen by a backtest of the last steps."""

    class Forecaster:
        registry = {}

        def __init_subclass__(cls, name, **kwargs):
            super().__init_subclass__(**kwargs)
            Forecaster.registry[name] = cls

        def fit(self, series):
            raise NotImplementedError

        def forecast(self, horizon):
            raise NotImplementedError

    class Arima(Forecaster, name="arima"):
        def __init__(self, d=1, lr=0.05, steps=8):
            self.d, self.lr, self.steps = d, lr, steps

        def residuals(self, z, phi, theta):
            prev, out = paddle.zeros([]), []
            for t in range(1, z.shape[0]):
                e = z[t] - phi * z[t - 1] - theta * prev
                out.append(e)
                prev = e
            return paddle.stack(out)

        def fit(self, series):
            self.tail, z = [], series
            for _ in range(self.d):
                self.tail.append(z[-1])
                z = z[1:] - z[:-1]
            phi = paddle.to_tensor(0.1, stop_gradient=False)
            theta = paddle.to_tensor(0.0, stop_gradient=False)
            for _ in range(self.steps):
                loss = (self.residuals(z, phi, theta) ** 2).mean()
                gp, gt = paddle.grad([loss], [phi, theta])
                with paddle.no_grad():
                    phi = (phi - self.lr * gp).clip(-0.95, 0.95)
                    theta = (theta - self.lr * gt).clip(-0.95, 0.95)
                phi.stop_gradient = theta.stop_gradient = False
            self.z, self.phi, self.theta = z, phi.detach(), theta.detach()
            return self

        def forecast(self, horizon):
            e = self.residuals(self.z, self.phi, self.theta)[-1]
            z, out = self.z[-1], []
            for _ in range(horizon):
                z = self.phi * z + self.theta * e
                e = paddle.zeros([])
                out.append(z)
            path = paddle.stack(out)
            for last in reversed(self.tail):
                path = last + paddle.cumsum(path)
            return path

    class HoltWinters(Forecaster, name="hw"):
        def __init__(self, season=3, alpha=0.4, beta=0.2, gamma=0.3, damp=0.9):
            self.m, self.alpha, self.beta, self.gamma, self.damp = season, alpha, beta, gamma, damp

        def fit(self, series):
            assert series.shape[0] >= 2 * self.m, "needs two seasons"
            level = series[: self.m].mean()
            trend = (series[self.m : 2 * self.m].mean() - level) / self.m
            season = [series[i] - level for i in range(self.m)]
            for t, y in enumerate(series[self.m :]):
                s = season[t % self.m]
                new = self.alpha * (y - s) + (1 - self.alpha) * (level + self.damp * trend)
                trend = self.beta * (new - level) + (1 - self.beta) * self.damp * trend
                season[t % self.m] = self.gamma * (y - new) + (1 - self.gamma) * s
                level = new
            self.level, self.trend, self.season, self.t = level, trend, season, t + 1
            return self

        def forecast(self, horizon):
            out = []
            for h in range(1, horizon + 1):
                damped = sum(self.damp**k for k in range(1, h + 1))
                out.append(
                    self.level + damped * self.trend + self.season[(self.t + h - 1) % self.m]
                )
            return paddle.stack(out)

    class Croston(Forecaster, name="croston"):
        def __init__(self, alpha=0.3):
            self.alpha = alpha

        def fit(self, series):
            size = interval = None
            gap = 1
            for y in series:
                if y > 0.5:
                    size = y if size is None else self.alpha * y + (1 - self.alpha) * size
                    interval = (
                        gap
                        if interval is None
                        else (self.alpha * gap + (1 - self.alpha) * interval)
                    )
                    gap = 1
                else:
                    gap += 1
            self.rate = paddle.zeros([]) if size is None else size / interval
            return self

        def forecast(self, horizon):
            return self.rate.expand([horizon])

    @convert
    def select(series, horizon=2, names=("arima", "hw", "croston")):
        train, hold = series[:-horizon], series[-horizon:]
        best, best_error, table = None, float("inf"), {}
        for name in names:
            error = (Forecaster.registry[name]().fit(train).forecast(horizon) - hold).abs().mean()
            table[name] = error.item()
            if error < best_error:
                best, best_error = name, error
        return best, table, Forecaster.registry[best]().fit(series).forecast(horizon)

    rng = np.random.RandomState(4)
    t = np.arange(12)
    for series in (
        0.5 * t + 0.2 * rng.randn(12),
        3 + np.array([2, -1, -1] * 4) + 0.1 * t,
        np.where(rng.rand(12) < 0.4, 4.0, 0.0),
        rng.randn(10),
    ):
        best, table, path = select(paddle.to_tensor(series.astype("float32")))
        print(best, {k: round(v, 3) for k, v in table.items()})
        yield best, table, path
    yield attempt(lambda: select(paddle.ones([5]), names=("hw",)))


@program
def windows_of_anomalies(convert):
    """Sliding statistics in a deque, median filters, EWMA charts, alarms merged into incidents."""

    class SlidingWindow:
        def __init__(self, size):
            self.size = size
            self.buffer = deque(maxlen=size)

        def push(self, value):
            self.buffer.append(value)
            return self

        @property
        def full(self):
            return len(self.buffer) == self.size

        def stats(self):
            values = paddle.stack(list(self.buffer))
            med = values.median()
            mad = (values - med).abs().median()
            return med, mad

    @dataclass
    class Incident:
        start: int
        end: int
        peak: paddle.Tensor

    class Monitor:
        def __init__(self, window=4, z=3.0, decay=0.3, gap=1):
            self.window = SlidingWindow(window)
            self.z, self.decay, self.gap = z, decay, gap
            self.ewma = None
            self.incidents: List[Incident] = []
            self.clock = 0

        def alarm(self, score):
            if self.incidents and self.clock - self.incidents[-1].end <= self.gap:
                last = self.incidents[-1]
                last.end = self.clock
                last.peak = paddle.maximum(last.peak, score)
            else:
                self.incidents.append(Incident(self.clock, self.clock, score))

        @convert
        def feed(self, chunk):
            scores = []
            for value in chunk:
                self.clock += 1
                if not paddle.isfinite(value):
                    scores.append(paddle.to_tensor(-1.0))
                    continue
                self.ewma = (
                    value
                    if self.ewma is None
                    else (self.decay * value + (1 - self.decay) * self.ewma)
                )
                score = paddle.to_tensor(0.0)
                if self.window.full:
                    med, mad = self.window.stats()
                    score = (value - med).abs() / (1.4826 * mad + 1e-3)
                    if score > self.z:
                        self.alarm(score)
                        scores.append(score)
                        continue
                self.window.push(value)
                scores.append(score)
            return paddle.stack(scores)

    @convert
    def median_filter(x, k=3):
        assert k % 2 == 1, "odd windows only"
        half = k // 2
        padded = paddle.concat([x[:1].expand([half]), x, x[-1:].expand([half])])
        return paddle.stack([padded[i : i + x.shape[0]] for i in range(k)]).median(axis=0)

    monitor = Monitor()
    rng = np.random.RandomState(5)
    for n, spikes in [(8, {5: 9.0}), (6, {2: -7.0, 3: -8.0}), (8, {1: np.nan}), (5, {})]:
        x = 0.3 * rng.randn(n)
        for at, v in spikes.items():
            x[at] = v
        x = paddle.to_tensor(x.astype("float32"))
        yield monitor.feed(x)
        yield monitor.ewma, monitor.clock, len(monitor.window.buffer)
        for one in monitor.incidents:
            print(f"{one.start}..{one.end} peak {one.peak.item():.2f}")
        yield median_filter(x, k=3), median_filter(x, k=5)
    yield attempt(lambda: median_filter(x, k=2))
