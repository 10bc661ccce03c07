"""Observers of ranges, calibration, and metrics that keep state from batch to batch."""

import abc
import math
from collections import OrderedDict
from dataclasses import dataclass

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import program


@program
def percentile_observer_with_a_histogram(convert):
    """A histogram of magnitudes that is rescaled when the range grows; percentiles of it."""

    class HistogramObserver:
        def __init__(self, bins=16, percent=0.95):
            self.bins = bins
            self.percent = percent
            self.hist = paddle.zeros([bins])
            self.top = None

        @convert
        def observe(self, x):
            high = x.abs().max()
            if self.top is None:
                self.top = paddle.maximum(high, paddle.to_tensor(1e-6))
            elif high > self.top:
                factor = paddle.ceil(high / self.top)
                index = (paddle.arange(self.bins).astype("float32") / factor).astype("int64")
                self.hist = paddle.scatter(
                    paddle.zeros([self.bins]), index, self.hist, overwrite=False
                )
                self.top = self.top * factor
            place = (x.abs().flatten() / self.top * self.bins).astype("int64")
            place = paddle.clip(place, max=self.bins - 1)
            self.hist = self.hist + paddle.bincount(place, minlength=self.bins).astype("float32")
            return x

        @convert
        def scale(self, levels=127):
            total = self.hist.sum()
            running = paddle.to_tensor(0.0)
            for i in range(self.bins):
                running = running + self.hist[i]
                if running >= self.percent * total:
                    return self.top * (i + 1) / self.bins / levels
            return self.top / levels

    observer = HistogramObserver()
    rng = np.random.RandomState(1)
    for scale in (1.0, 0.5, 4.0, 2.0):
        x = paddle.to_tensor((rng.randn(3, 7) * scale).astype("float32"))
        observer.observe(x)
        yield observer.hist, observer.top, observer.scale()
    yield observer.scale(levels=15)


@program
def quantisation_aware_linear_with_ste(convert):
    """Fake quantisation with a straight-through estimator, moving ranges, then frozen."""

    def round_ste(x):
        return x + (paddle.round(x) - x).detach()

    class MovingRange(nn.Layer):
        def __init__(self, momentum=0.9):
            super().__init__()
            self.momentum = momentum
            self.register_buffer("low", paddle.zeros([]))
            self.register_buffer("high", paddle.zeros([]))
            self.register_buffer("seen", paddle.zeros([], dtype="int64"))

        def forward(self, x):
            if self.training:
                low, high = x.min().detach(), x.max().detach()
                if self.seen == 0:
                    self.low, self.high = low, high
                else:
                    m = self.momentum
                    self.low = m * self.low + (1 - m) * low
                    self.high = m * self.high + (1 - m) * high
                self.seen = self.seen + 1
            scale = (self.high - self.low) / 255.0
            zero = paddle.round(-self.low / scale)
            q = paddle.clip(round_ste(x / scale) + zero, 0, 255)
            return (q - zero) * scale

    class QuantLinear(nn.Layer):
        def __init__(self, size, out):
            super().__init__()
            self.inner = nn.Linear(
                size,
                out,
                weight_attr=nn.initializer.Normal(0.0, 0.5),
            )
            self.act = MovingRange()
            self.weight_bits = 4

        def quantised_weight(self):
            w = self.inner.weight
            limit = 2 ** (self.weight_bits - 1) - 1
            scale = w.abs().max(axis=0, keepdim=True).detach() / limit
            return round_ste(w / scale) * scale

        @convert
        def forward(self, x):
            return F.linear(self.act(x), self.quantised_weight(), self.inner.bias)

    paddle.seed(3)
    layer = QuantLinear(4, 2)
    rng = np.random.RandomState(2)
    for step in range(3):
        x = paddle.to_tensor(rng.randn(5, 4).astype("float32") * (step + 1), stop_gradient=False)
        out = layer(x)
        loss = out.square().mean()
        loss.backward()
        yield loss, x.grad, layer.inner.weight.grad, layer.act.high, layer.act.seen
        layer.clear_gradients()
    layer.eval()
    for size in (1, 6):
        yield layer(paddle.to_tensor(rng.randn(size, 4).astype("float32")))
    layer.weight_bits = 8
    yield layer(x), layer.act.seen


@program
def calibration_by_mse_search(convert):
    """The clipping range with the least squared error, by a grid that is refined twice."""

    @dataclass(frozen=True)
    class Scheme:
        bits: int = 4
        symmetric: bool = True

        @property
        def levels(self):
            return 2**self.bits - 1

    def fake(x, clip, scheme):
        if scheme.symmetric:
            low, high = -clip, clip
        else:
            low, high = paddle.zeros_like(clip), clip
        step = (high - low) / scheme.levels
        return paddle.clip(paddle.round((x - low) / step), 0, scheme.levels) * step + low

    @convert
    def search(x, scheme, points=5, rounds=2):
        top = x.abs().max()
        center, width = top / 2, top / 2
        best_error = paddle.to_tensor(math.inf)
        best = top
        for _ in range(rounds):
            for k in range(1, points + 1):
                clip = center - width + 2 * width * k / points
                if clip <= 0:
                    continue
                error = (fake(x, clip, scheme) - x).square().mean()
                if error < best_error:
                    best_error, best = error, clip
            center, width = best, width / points
        return best, best_error

    rng = np.random.RandomState(4)
    x = rng.standard_t(3, 40).astype("float32")
    for scheme in (Scheme(), Scheme(8), Scheme(3, symmetric=False)):
        yield search(paddle.to_tensor(x), scheme)
    yield search(paddle.to_tensor(np.abs(x[:9])), Scheme(2, symmetric=False), points=3, rounds=1)


class Metric(abc.ABC):
    """The base of the metrics below: state by name, reset, update and compute."""

    def __init__(self):
        self._defaults = {}

    def add_state(self, name, default):
        self._defaults[name] = default
        setattr(
            self, name, default.clone() if isinstance(default, paddle.Tensor) else list(default)
        )

    def reset(self):
        for name, default in self._defaults.items():
            fresh = default.clone() if isinstance(default, paddle.Tensor) else list(default)
            setattr(self, name, fresh)

    @abc.abstractmethod
    def update(self, *args, **kwargs): ...

    @abc.abstractmethod
    def compute(self): ...

    def __call__(self, *args, **kwargs):
        self.update(*args, **kwargs)
        return self.compute()


@program
def metrics_with_registered_state(convert):
    """Accuracy, a confusion matrix and perplexity as subclasses; a collection with prefixes."""

    class Accuracy(Metric):
        def __init__(self, topk=1, ignore=None):
            super().__init__()
            self.topk, self.ignore = topk, ignore
            self.add_state("right", paddle.zeros([]))
            self.add_state("total", paddle.zeros([]))

        @convert
        def update(self, logits, labels):
            _, found = paddle.topk(logits, self.topk, axis=-1)
            hits = (found == labels.unsqueeze(-1)).any(axis=-1)
            if self.ignore is not None:
                kept = labels != self.ignore
                hits = paddle.logical_and(hits, kept)
                self.total += kept.astype("float32").sum()
            else:
                self.total += float(labels.shape[0])
            self.right += hits.astype("float32").sum()

        @convert
        def compute(self):
            if self.total == 0:
                return paddle.to_tensor(float("nan"))
            return self.right / self.total

    class Confusion(Metric):
        def __init__(self, classes, normalise=None):
            super().__init__()
            self.classes, self.normalise = classes, normalise
            self.add_state("matrix", paddle.zeros([classes, classes], dtype="int64"))

        @convert
        def update(self, logits, labels):
            flat = labels * self.classes + logits.argmax(axis=-1)
            counts = paddle.bincount(flat, minlength=self.classes**2)
            self.matrix += counts.reshape([self.classes, self.classes])

        @convert
        def compute(self):
            if self.normalise == "true":
                rows = self.matrix.sum(axis=1, keepdim=True)
                return paddle.where(rows > 0, self.matrix / paddle.clip(rows, min=1), 0.0)
            return self.matrix

    class Perplexity(Metric):
        def __init__(self):
            super().__init__()
            self.add_state("losses", [])
            self.add_state("count", paddle.zeros([], dtype="int64"))

        @convert
        def update(self, logits, labels):
            loss = F.cross_entropy(logits, labels, reduction="sum")
            self.losses.append(loss)
            self.count += labels.shape[0]

        @convert
        def compute(self):
            return paddle.exp(paddle.stack(self.losses).sum() / self.count.astype("float32"))

    collection = OrderedDict(
        top1=Accuracy(), top2=Accuracy(2, ignore=0), cm=Confusion(3, "true"), ppl=Perplexity()
    )
    rng = np.random.RandomState(6)
    for epoch in range(2):
        for size in (4, 4, 2):
            logits = paddle.to_tensor(rng.randn(size, 3).astype("float32"))
            labels = paddle.to_tensor(rng.randint(0, 3, size).astype("int64"))
            for metric in collection.values():
                metric.update(logits, labels)
        yield {f"val/{name}": metric.compute() for name, metric in collection.items()}
        for metric in collection.values():
            metric.reset()
        yield collection["top1"].total, collection["ppl"].losses
    yield collection["top1"].compute()


@program
def streaming_moments_and_correlation(convert):
    """Welford's moments, merged over shards, and a running correlation with a reset on drift."""

    @dataclass
    class Moments:
        n: paddle.Tensor
        mean: paddle.Tensor
        m2: paddle.Tensor

        @classmethod
        def empty(cls, dim):
            return cls(paddle.zeros([]), paddle.zeros([dim]), paddle.zeros([dim]))

        def push(self, x):
            self.n = self.n + 1
            delta = x - self.mean
            self.mean = self.mean + delta / self.n
            self.m2 = self.m2 + delta * (x - self.mean)
            return self

        def merge(self, other):
            n = self.n + other.n
            if n == 0:
                return self
            delta = other.mean - self.mean
            return Moments(
                n,
                self.mean + delta * other.n / n,
                self.m2 + other.m2 + delta.square() * self.n * other.n / n,
            )

        @property
        def variance(self):
            return self.m2 / paddle.clip(self.n - 1, min=1.0)

    @convert
    def shard(rows):
        moments = Moments.empty(rows.shape[1])
        for row in rows:
            moments.push(row)
        return moments

    @convert
    def reduce(shards):
        total = shards[0]
        for each in shards[1:]:
            total = total.merge(each)
        return total, total.variance

    @convert
    def drifted(reference, current, threshold):
        spread = paddle.sqrt(reference.variance + 1e-6)
        z = (current.mean - reference.mean).abs() / spread
        if (z > threshold).any():
            worst = z.argmax()
            return True, worst, z[worst]
        return False, None, z.max()

    rng = np.random.RandomState(8)
    shards = []
    for size, shift in ((3, 0.0), (5, 0.1), (4, 3.0)):
        x = paddle.to_tensor((rng.randn(size, 2) + shift).astype("float32"))
        shards.append(shard(x))
        yield shards[-1], shards[-1].variance
    yield reduce(shards)
    yield reduce([Moments.empty(2), Moments.empty(2)])
    yield drifted(shards[0], shards[1], 2.0)
    yield drifted(shards[0], shards[2], 2.0)
