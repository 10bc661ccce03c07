"""Numbers that arrive one at a time: quantiles, change points, heavy hitters, motifs, sessions."""

import itertools
import math
import warnings
from collections import Counter, OrderedDict, deque
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Protocol, runtime_checkable

import numpy as np
import paddle

from corpus.realistic import attempt, program


@program
def p_square_quantiles_and_a_report(convert):
    """The P2 estimator with its five markers, several of them in one monitor, printed as a table."""

    class P2:
        """Jain and Chlamtac: one quantile without keeping the data."""

        def __init__(self, p):
            if not 0 < p < 1:
                raise ValueError(f"a quantile lies between 0 and 1, not at {p}")
            self.p = p
            self.first = []
            self.q = None
            self.n = None
            self.ideal = None
            self.rate = paddle.to_tensor([0, p / 2, p, (1 + p) / 2, 1])

        def add(self, x):
            if self.q is None:
                self.first.append(x)
                if len(self.first) == 5:
                    self.q = paddle.sort(paddle.stack(self.first))
                    self.n = paddle.arange(5, dtype="float32")
                    self.ideal = 4 * self.rate
                return
            if x < self.q[0]:
                self.q[0] = x
                k = 0
            elif x >= self.q[4]:
                self.q[4] = x
                k = 3
            else:
                k = 0
                while not (self.q[k] <= x < self.q[k + 1]):
                    k += 1
            self.n[k + 1 :] += 1
            self.ideal = self.ideal + self.rate
            for i in range(1, 4):
                d = self.ideal[i] - self.n[i]
                if (d >= 1 and self.n[i + 1] - self.n[i] > 1) or (
                    d <= -1 and self.n[i - 1] - self.n[i] < -1
                ):
                    s = paddle.sign(d)
                    better = self.parabolic(i, s)
                    if not self.q[i - 1] < better < self.q[i + 1]:
                        better = self.linear(i, s)
                    self.q[i] = better
                    self.n[i] += s

        def parabolic(self, i, s):
            q, n = self.q, self.n
            up = (n[i] - n[i - 1] + s) * (q[i + 1] - q[i]) / (n[i + 1] - n[i])
            down = (n[i + 1] - n[i] - s) * (q[i] - q[i - 1]) / (n[i] - n[i - 1])
            return q[i] + s / (n[i + 1] - n[i - 1]) * (up + down)

        def linear(self, i, s):
            j = i + int(s)
            return self.q[i] + s * (self.q[j] - self.q[i]) / (self.n[j] - self.n[i])

        @property
        def value(self):
            if self.q is not None:
                return self.q[2]
            if not self.first:
                return paddle.to_tensor(float("nan"))
            ordered = sorted(self.first)
            return ordered[int(self.p * len(ordered))]

    class Monitor(dict):
        def __missing__(self, p):
            self[p] = P2(p)
            return self[p]

        def report(self, width=8):
            lines = [f"{'p':>5} | {'value':>{width}}"]
            lines += [f"{p:5.2f} | {float(e.value):{width}.3f}" for p, e in sorted(self.items())]
            return "\n".join(lines)

    @convert
    def feed(monitor, xs, quantiles=(0.5,)):
        for x in xs:
            for p in quantiles:
                monitor[p].add(x)
        return [monitor[p].value for p in quantiles]

    rng = np.random.RandomState(6)
    monitor = Monitor()
    for n in (3, 4, 6, 6):
        yield feed(monitor, paddle.to_tensor(rng.exponential(size=n).astype("float32")))
    yield feed(monitor, paddle.to_tensor(rng.randn(9).astype("float32")), (0.5, 0.9))
    print(monitor.report())
    yield monitor[0.5].q, monitor[0.9].n, attempt(lambda: monitor[1.5])


@program
def drift_by_page_hinkley_and_windows(convert):
    """Three detectors behind one protocol; a supervisor that lets them vote and resets them."""

    @runtime_checkable
    class Detector(Protocol):
        def update(self, x) -> bool: ...
        def reset(self) -> None: ...

    class Resettable:
        def __init__(self, **kwargs):
            self._kwargs = kwargs
            self.alarms = 0
            self.reset()

        def reset(self):
            self.__dict__.update(self._kwargs)

    class PageHinkley(Resettable):
        def __init__(self, delta=0.05, threshold=2.0):
            super().__init__(delta=delta, threshold=threshold)

        def reset(self):
            super().reset()
            self.n, self.mean, self.total = 0, paddle.zeros([]), paddle.zeros([])
            self.lowest = paddle.to_tensor(float("inf"))

        def update(self, x):
            self.n += 1
            self.mean += (x - self.mean) / self.n
            self.total += x - self.mean - self.delta
            self.lowest = paddle.minimum(self.lowest, self.total)
            return self.total - self.lowest > self.threshold

    class Cusum(Resettable):
        def __init__(self, target=0.0, slack=0.5, threshold=3.0):
            super().__init__(target=target, slack=slack, threshold=threshold)

        def reset(self):
            super().reset()
            self.high = self.low = paddle.zeros([])

        def update(self, x):
            self.high = (self.high + x - self.target - self.slack).clip(min=0)
            self.low = (self.low - x + self.target - self.slack).clip(min=0)
            return bool(self.high > self.threshold or self.low > self.threshold)

    class TwoWindows(Resettable):
        def __init__(self, size=6, z=2.5):
            super().__init__(size=size, z=z)

        def reset(self):
            super().reset()
            self.window = deque(maxlen=self.size)

        def update(self, x):
            self.window.append(x)
            if len(self.window) < self.size:
                return False
            data = paddle.stack(list(self.window))
            half = self.size // 2
            old, new = data[:half], data[half:]
            spread = (old.var() + new.var()) / half + 1e-6
            return ((new.mean() - old.mean()).abs() / spread.sqrt()) > self.z

    class Supervisor:
        def __init__(self, *detectors, quorum=2, quiet=3):
            assert all(isinstance(d, Detector) for d in detectors)
            self.detectors, self.quorum, self.quiet = detectors, quorum, quiet
            self.silent = 0
            self.events = []

        @convert
        def watch(self, xs, start=0):
            for t, x in enumerate(xs, start=start):
                votes = [d.update(x) for d in self.detectors]
                count = sum(1 for v in votes if v)
                for d, v in zip(self.detectors, votes):
                    d.alarms += int(v)
                if self.silent > 0:
                    self.silent -= 1
                elif count >= self.quorum:
                    self.events.append((t, x))
                    self.silent = self.quiet
                    for d in self.detectors:
                        d.reset()
            return len(self.events)

    rng = np.random.RandomState(12)
    shifts = [np.zeros(8), np.full(8, 2.5), np.r_[np.full(4, 2.5), np.full(8, -2.0)]]
    boss = Supervisor(PageHinkley(), Cusum(), TwoWindows())
    at = 0
    for level in shifts:
        data = (level + 0.3 * rng.randn(len(level))).astype("float32")
        yield boss.watch(paddle.to_tensor(data), start=at)
        at += len(level)
        yield [d.alarms for d in boss.detectors], boss.silent
    yield boss.events
    lone = Supervisor(Cusum(threshold=1.0), quorum=1, quiet=0)
    yield lone.watch(paddle.to_tensor([0.0, 2.0, 2.0, -3.0, 0.1])), lone.events


@program
def reservoirs_and_heavy_hitters(convert):
    """A weighted reservoir, Misra-Gries counters in a dict and a HyperLogLog, fed by one pipeline."""

    class Reservoir:
        def __init__(self, size):
            self.size = size
            self.keys = []
            self.items = []

        def add(self, item, u, weight=1.0):
            key = u ** (1.0 / weight)
            if len(self.items) < self.size:
                self.keys.append(key)
                self.items.append(item)
                return True
            keys = paddle.stack(self.keys)
            i = keys.argmin()
            if key <= keys[i]:
                return False
            self.keys[int(i)] = key
            self.items[int(i)] = item
            return True

        def __len__(self):
            return len(self.items)

        def __iter__(self):
            yield from sorted(self.items)

    class MisraGries:
        def __init__(self, k):
            self.k, self.counts = k, {}

        def add(self, token):
            if token in self.counts:
                self.counts[token] += 1
            elif len(self.counts) < self.k - 1:
                self.counts[token] = 1
            else:
                for other in list(self.counts):
                    self.counts[other] -= 1
                    if self.counts[other] == 0:
                        del self.counts[other]

        def most_common(self, n=None):
            return Counter(self.counts).most_common(n)

    class HyperLogLog:
        def __init__(self, bits=3):
            self.m = 1 << bits
            self.bits = bits
            self.registers = paddle.zeros([self.m], dtype="int64")

        def add(self, token):
            h = (token * 2654435761) % (1 << 24)
            j = h % self.m
            rest = h // self.m
            rank = 1
            while rest % 2 == 0 and rank < 20:
                rest = rest // 2
                rank += 1
            self.registers[j] = paddle.maximum(self.registers[j], paddle.to_tensor(rank))

        def estimate(self):
            alpha = 0.7213 / (1 + 1.079 / self.m)
            raw = alpha * self.m**2 / (2.0 ** (-self.registers.astype("float32"))).sum()
            if raw <= 2.5 * self.m and (zeros := (self.registers == 0).sum()) > 0:
                return self.m * paddle.log(self.m / zeros.astype("float32"))
            return raw

    @convert
    def consume(tokens, draws, reservoir, hitters, sketch):
        accepted = 0
        for token, u in zip(tokens, draws):
            sketch.add(token)
            accepted += reservoir.add(token, u, weight=1.0 + float(token % 3))
            hitters.add(token.item())
        return accepted, sketch.estimate(), len(reservoir)

    rng = np.random.RandomState(9)
    reservoir, hitters, sketch = Reservoir(3), MisraGries(3), HyperLogLog()
    for n in (4, 6, 6):
        tokens = paddle.to_tensor(rng.geometric(0.3, n))
        draws = paddle.to_tensor(rng.rand(n).astype("float32"))
        yield consume(tokens, draws, reservoir, hitters, sketch)
        yield list(reservoir), hitters.most_common(2), sketch.registers


@program
def matrix_profile_with_motifs(convert):
    """Self-join of a series by z-normalised windows; motifs and discords with an exclusion zone."""

    @dataclass
    class Profile:
        window: int
        distances: paddle.Tensor
        neighbours: paddle.Tensor
        motifs: list = field(default_factory=list)

        def __len__(self):
            return self.distances.shape[0]

        @property
        def zone(self):
            return math.ceil(self.window / 4)

    def windows(series, m):
        for i in range(series.shape[0] - m + 1):
            w = series[i : i + m]
            yield i, (w - w.mean()) / w.std().clip(min=1e-4)

    @convert
    def profile(series, m):
        if series.shape[0] < 2 * m:
            raise ValueError(f"{series.shape[0]} points are too few for windows of {m}")
        n = series.shape[0] - m + 1
        best = paddle.full([n], float("inf"))
        index = paddle.full([n], -1, dtype="int64")
        zone = math.ceil(m / 4)
        for (i, a), (j, b) in itertools.combinations(list(windows(series, m)), 2):
            if abs(i - j) <= zone:
                continue
            d = ((a - b) ** 2).sum().sqrt()
            if d < best[i]:
                best[i], index[i] = d, j
            if d < best[j]:
                best[j], index[j] = d, i
        return Profile(m, best, index)

    @convert
    def motifs(found, k=2, radius=None):
        left = found.distances.clone()
        while len(found.motifs) < k:
            i = left.argmin()
            value = left[i]
            if paddle.isinf(value) or (radius is not None and value > radius):
                break
            j = found.neighbours[i]
            found.motifs.append((i, j, value))
            for centre in (i, j):
                lo = paddle.clip(centre - found.zone, min=0)
                left[lo : centre + found.zone + 1] = float("inf")
        return found.motifs

    @convert
    def discords(found, k=1):
        left = found.distances.clone()
        out = []
        for _ in range(k):
            i = int(left.argmax())
            out.append((i, left[i]))
            left[max(0, i - found.zone) : i + found.zone + 1] = -1.0
        return sorted(out)

    t = np.arange(14)
    rng = np.random.RandomState(1)
    for n, m, radius in ((14, 4, None), (12, 3, 0.8), (14, 3, 0.3)):
        series = np.sin(t[:n] * 1.1) + 0.2 * rng.randn(n)
        series[n // 2] += 3
        found = profile(paddle.to_tensor(series.astype("float32")), m)
        yield found, len(found)
        yield motifs(found, radius=radius), discords(found, k=2)
    yield attempt(lambda: profile(paddle.ones([5]), 4))


@program
def sessions_from_clicks(convert):
    """Events to sessions: out-of-order arrival, gaps, watermarks, late data, features per session."""

    class Kind(Enum):
        VIEW = auto()
        CART = auto()
        BUY = auto()

        @property
        def weight(self):
            return {Kind.VIEW: 1.0, Kind.CART: 3.0}.get(self, 10.0)

    @dataclass(slots=True)
    class Session:
        user: int
        start: object
        last: object
        score: object
        counts: Counter = field(default_factory=Counter)

        def take(self, time, kind, value):
            self.last = paddle.maximum(self.last, time)
            self.start = paddle.minimum(self.start, time)
            self.score = self.score + kind.weight * value
            self.counts[kind] += 1

        @property
        def length(self):
            return self.last - self.start

    class Sessions:
        def __init__(self, gap=5.0, lateness=3.0):
            self.gap, self.lateness = gap, lateness
            self.open: dict[int, Session] = OrderedDict()
            self.closed: list[Session] = []
            self.dropped = 0
            self.watermark = paddle.to_tensor(float("-inf"))

        def add(self, user, time, kind, value):
            if time < self.watermark - self.lateness:
                self.dropped += 1
                warnings.warn(f"late event of user {user}", stacklevel=2)
                return
            self.watermark = paddle.maximum(self.watermark, time)
            session = self.open.get(user)
            if session is not None and time - session.last > self.gap:
                self.closed.append(self.open.pop(user))
                session = None
            if session is None:
                self.open[user] = session = Session(user, time, time, paddle.zeros([]))
            session.take(time, kind, value)
            self.expire()

        def expire(self):
            for user in list(self.open):
                if self.watermark - self.open[user].last > self.gap + self.lateness:
                    self.closed.append(self.open.pop(user))

    @convert
    def ingest(state, users, kinds, times, values):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for user, kind, time, value in zip(users, kinds, times, values):
                state.add(user, time, kind, value)
        return len(caught), len(state.open), len(state.closed)

    @convert
    def features(state):
        done = state.closed + list(state.open.values())
        if not done:
            return paddle.zeros([0, 3])
        table = paddle.stack(
            [
                paddle.stack([s.length, s.score, paddle.to_tensor(float(sum(s.counts.values())))])
                for s in done
            ]
        )
        return table[paddle.argsort(table[:, 1], descending=True)]

    state = Sessions()
    yield features(state)
    batches = [
        ([1, 2, 1], [Kind.VIEW, Kind.VIEW, Kind.CART], [0.0, 1.0, 2.0], [1.0, 1.0, 0.5]),
        ([1, 2, 3], [Kind.BUY, Kind.VIEW, Kind.VIEW], [4.0, 9.0, 8.0], [2.0, 1.0, 1.0]),
        ([3, 1, 2], [Kind.BUY, Kind.VIEW, Kind.VIEW], [2.0, 20.0, 18.5], [1.0, 1.0, 1.0]),
    ]
    for users, kinds, times, values in batches:
        yield ingest(state, users, kinds, paddle.to_tensor(times), paddle.to_tensor(values))
        yield features(state), state.dropped, [s.user for s in state.closed]
