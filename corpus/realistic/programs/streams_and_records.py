"""Scopes, hooks, generators, statistics, caches and loaders."""

import math
from collections import OrderedDict, defaultdict
from contextlib import contextmanager
from functools import reduce
from itertools import islice
from typing import Any, Dict, Iterable, Iterator, List, NamedTuple, Optional, Tuple

import paddle
from paddle import nn

from corpus.realistic import attempt, program


class Recorder:
    def __init__(self):
        self.stack = []
        self.values = defaultdict(list)

    @contextmanager
    def scope(self, name):
        self.stack.append(name)
        try:
            yield self
        finally:
            self.stack.pop()

    def log(self, key, value):
        self.values["/".join([*self.stack, key])].append(value)

    def summary(self):
        return {key: paddle.stack(values).mean() for key, values in sorted(self.values.items())}


class Block(nn.Layer):
    def __init__(self, dim, recorder):
        super().__init__()
        self.linear = nn.Linear(dim, dim)
        self.recorder = recorder

    def forward(self, x, index):
        with self.recorder.scope(f"block{index}"):
            h = nn.functional.relu(self.linear(x))
            dead = (h == 0).astype("float32").mean()
            self.recorder.log("dead", dead)
            if dead > 0.5:
                with self.recorder.scope("revived"):
                    h = h + 0.1 * x
                    self.recorder.log("norm", h.norm())
        return h


class Net(nn.Layer):
    def __init__(self, dim=4, depth=3):
        super().__init__()
        self.recorder = Recorder()
        self.blocks = nn.LayerList([Block(dim, self.recorder) for _ in range(depth)])

    def forward(self, x):
        self.recorder.values.clear()
        with self.recorder.scope("net"):
            for i, block in enumerate(self.blocks):
                x = block(x, i)
        return x, self.recorder.summary()


@program
def metric_scopes(convert):
    """Nested scopes as a context manager collect metrics of a model's pieces."""

    paddle.seed(31)
    net = convert(Net())
    yield net(paddle.ones([2, 4]))
    yield net(-paddle.ones([2, 4]))
    yield net(paddle.randn([3, 4]))


class StopTraining(Exception):
    pass


class Callback:
    def on_begin(self, loop: "Loop") -> None: ...
    def on_step(self, loop: "Loop", logs: Dict[str, Any]) -> None: ...
    def on_end(self, loop: "Loop", reason: Optional[str]) -> None: ...


class History(Callback):
    def on_begin(self, loop):
        self.losses = []

    def on_step(self, loop, logs):
        self.losses.append(logs["loss"])


class StopBelow(Callback):
    def __init__(self, threshold):
        self.threshold = threshold

    def on_step(self, loop, logs):
        if logs["loss"] < self.threshold:
            raise StopTraining(f"loss is below {self.threshold}")


class HalveOnRise(Callback):
    def __init__(self):
        self.previous = None

    def on_step(self, loop, logs):
        if self.previous is not None and logs["loss"] > self.previous:
            loop.rate = loop.rate * 0.5
        self.previous = logs["loss"]


class Loop:
    def __init__(self, weight, rate, callbacks: List[Callback]):
        self.weight, self.rate, self.callbacks = weight, rate, callbacks

    def emit(self, hook, *args):
        for callback in self.callbacks:
            getattr(callback, hook)(self, *args)

    def run(self, x, y, steps):
        reason = None
        self.emit("on_begin")
        try:
            for step in range(steps):
                error = x * self.weight - y
                loss = error.square().mean()
                self.weight = self.weight - self.rate * (2 * error * x).mean()
                self.emit("on_step", {"loss": loss, "step": step})
        except StopTraining as stop:
            reason = str(stop)
        finally:
            self.emit("on_end", reason)
        return self.weight, step, reason


@program
def callbacks_loop(convert):
    """A loop with callbacks: hooks at the start and end of a step that may log, change the rate, or stop the loop."""

    x = paddle.to_tensor([1.0, 2.0, 3.0])
    for rate, threshold in ((0.05, 0.1), (0.3, 1e-4), (0.01, 1e-9)):
        history = History()
        loop = Loop(paddle.to_tensor(0.0), rate, [history, StopBelow(threshold), HalveOnRise()])
        run = convert(loop.run)
        yield run(x, 2 * x, 6), history.losses, loop.rate


def windows(signal: paddle.Tensor, size: int, hop: int) -> Iterator[paddle.Tensor]:
    for start in range(0, signal.shape[0] - size + 1, hop):
        yield signal[start : start + size]


def loud(frames: Iterable[paddle.Tensor], threshold: float) -> Iterator[paddle.Tensor]:
    for frame in frames:
        if frame.abs().mean() >= threshold:
            yield frame


def normalized(frames):
    for frame in frames:
        peak = frame.abs().max()
        yield frame / peak if peak > 1 else frame


def batched(items, n):
    it = iter(items)
    while batch := list(islice(it, n)):
        yield paddle.stack(batch)


def analyse(signal, size=4, hop=2, threshold=0.5, batch=2, budget=6.0):
    energy = paddle.zeros([])
    count = 0
    for group in batched(normalized(loud(windows(signal, size, hop), threshold)), batch):
        energy = energy + group.square().sum()
        count += len(group)
        if energy > budget:
            print("budget spent after", count)
            break
    return energy, count


@program
def generator_pipeline(convert):
    """A pipeline of generators: read windows, drop the silent ones, normalize, batch; the consumer stops when it has enough."""

    run = convert(analyse)
    yield run(paddle.to_tensor([0.1, 0.2, 3.0, -1.0, 0.4, 0.0, 0.1, 0.0, 2.0, 2.0, 2.0, 2.0]))
    yield run(paddle.ones([12]) * 0.9)
    yield run(paddle.ones([10]) * 0.1)


class Stats(NamedTuple):
    n: int = 0
    mean: float = 0.0
    m2: float = 0.0

    def push(self, x: float) -> "Stats":
        n = self.n + 1
        delta = x - self.mean
        mean = self.mean + delta / n
        return Stats(n, mean, self.m2 + delta * (x - mean))

    def __add__(self, other: "Stats") -> "Stats":
        n = self.n + other.n
        if n == 0:
            return self
        delta = other.mean - self.mean
        return Stats(
            n, self.mean + delta * other.n / n, self.m2 + other.m2 + delta**2 * self.n * other.n / n
        )

    @property
    def std(self) -> float:
        return math.sqrt(self.m2 / self.n) if self.n > 1 else 0.0


def summarize(batches: List[paddle.Tensor], z: float = 3.0):
    parts, outliers = [], []
    for batch in batches:
        stats = Stats()
        for x in batch.tolist():
            if stats.n >= 3 and stats.std > 0 and abs(x - stats.mean) > z * stats.std:
                outliers.append(x)
                continue
            stats = stats.push(x)
        parts.append(stats)
    total = reduce(lambda a, b: a + b, parts, Stats())
    return total, round(total.std, 5), outliers


@program
def running_stats(convert):
    """Running statistics (Welford) as an immutable namedtuple that merges; outliers are kept apart."""

    run = convert(summarize)
    yield run([paddle.to_tensor([1.0, 2.0, 3.0, 2.0, 50.0]), paddle.to_tensor([2.5, 2.0])])
    yield run([paddle.to_tensor([1.0, 1.0, 1.0, 9.0])], z=2.0)
    yield run([paddle.to_tensor([0.5, -0.5, 0.25, 0.75, 0.1]), paddle.to_tensor([4.0])], z=1.0)


class LRUCache:
    def __init__(self, capacity):
        self.capacity = capacity
        self.data = OrderedDict()
        self.hits = self.misses = 0

    def __len__(self):
        return len(self.data)

    def __contains__(self, key):
        return key in self.data

    def get(self, key, compute):
        if key in self.data:
            self.hits += 1
            self.data.move_to_end(key)
        else:
            self.misses += 1
            self.data[key] = compute(key)
            if len(self.data) > self.capacity:
                evicted, _ = self.data.popitem(last=False)
                print("evict", evicted)
        return self.data[key]


class EmbeddingService(nn.Layer):
    def __init__(self, vocab=10, dim=3, capacity=3):
        super().__init__()
        self.table = nn.Embedding(vocab, dim)
        self.project = nn.Linear(dim, dim)
        self.cache = LRUCache(capacity)

    def compute(self, token: int):
        return paddle.tanh(self.project(self.table(paddle.to_tensor(token)))).detach()

    def forward(self, tokens):
        rows = [self.cache.get(int(t), self.compute) for t in tokens]
        out = paddle.stack(rows)
        hit_rate = self.cache.hits / (self.cache.hits + self.cache.misses)
        return out, hit_rate


@program
def lru_embedding_service(convert):
    """An embedding service with an LRU cache of rows that are expensive to compute."""

    paddle.seed(35)
    service = convert(EmbeddingService())
    yield service(paddle.to_tensor([1, 2, 1]))
    yield service(paddle.to_tensor([3, 4, 1, 4]))
    yield (
        service(paddle.to_tensor([1, 3, 4])),
        list(service.cache.data),
        len(service.cache),
        2 in service.cache,
    )


class Sequences:
    def __init__(self, flat: paddle.Tensor, lengths: paddle.Tensor):
        self.flat, self.lengths = flat, lengths
        self.offsets = [0]
        for n in lengths.tolist():
            self.offsets.append(self.offsets[-1] + n)

    def __len__(self):
        return len(self.offsets) - 1

    def __getitem__(self, i):
        if not -len(self) <= i < len(self):
            raise IndexError(f"no sequence {i}")
        i %= len(self)
        return self.flat[self.offsets[i] : self.offsets[i + 1]]


class BucketLoader:
    def __init__(self, data: Sequences, max_tokens: int, pad: int = 0):
        self.data, self.max_tokens, self.pad = data, max_tokens, pad

    def __iter__(self) -> Iterator[Tuple[paddle.Tensor, paddle.Tensor]]:
        bucket: List[paddle.Tensor] = []
        widest = 0
        for i in sorted(range(len(self.data)), key=lambda i: len(self.data[i])):
            sequence = self.data[i]
            widest = max(widest, len(sequence))
            if bucket and widest * (len(bucket) + 1) > self.max_tokens:
                yield self.collate(bucket)
                bucket, widest = [], len(sequence)
            bucket.append(sequence)
        if bucket:
            yield self.collate(bucket)

    def collate(self, bucket):
        widest = max(len(s) for s in bucket)
        rows = [
            paddle.nn.functional.pad(s, [0, widest - len(s)], value=self.pad)
            if len(s) < widest
            else s
            for s in bucket
        ]
        batch = paddle.stack(rows)
        return batch, (batch != self.pad)


def token_stats(flat, lengths, max_tokens=8):
    loader = BucketLoader(Sequences(flat, lengths), max_tokens)
    results = []
    for batch, mask in loader:
        padding = 1.0 - mask.astype("float32").mean()
        if padding > 0.4:
            print("wasteful batch:", batch.shape)
        results.append((batch.max(), padding))
    return results, loader.data[-1]


@program
def bucket_loader(convert):
    """A loader class with __len__, __getitem__ and __iter__, buckets by length, and a collate function that pads."""

    run = convert(token_stats)
    yield run(paddle.arange(1, 13), paddle.to_tensor([4, 1, 2, 5]))
    yield run(paddle.arange(1, 8), paddle.to_tensor([1, 6]), max_tokens=12)
    yield attempt(lambda: run(paddle.arange(0), paddle.to_tensor([], dtype="int64")))
