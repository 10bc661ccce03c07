"""Classes with descriptors, delegation, operators, states and containers."""

import enum
import heapq
import itertools
import numbers
from dataclasses import dataclass, field

import paddle
import paddle.nn as nn

from corpus.realistic import attempt, program


@program
def wrappers_that_count_calls(convert):
    """Wrappers of a layer: delegation by __getattr__, mixins, class-level counters, a cache of results."""

    class CountCalls:
        """Mixin: counts calls for each class, and over all."""

        calls = 0
        per_class = {}

        def __call__(self, *args, **kwargs):
            CountCalls.calls += 1
            name = type(self).__name__
            CountCalls.per_class[name] = CountCalls.per_class.get(name, 0) + 1
            return super().__call__(*args, **kwargs)

    class Wrapper:
        def __init__(self, layer):
            self._layer = layer
            self.largest = 0.0

        def __getattr__(self, name):
            if name.startswith("__"):
                raise AttributeError(name)
            return getattr(self._layer, name)

        def __call__(self, x):
            y = self._layer(x)
            peak = y.abs().max()
            if peak > self.largest:
                self.largest = peak
            return y

    class Scaled(Wrapper):
        def __init__(self, layer, scale=1.0):
            super().__init__(layer)
            self._scale = scale

        @property
        def scale(self):
            return self._scale

        @scale.setter
        def scale(self, value):
            if value <= 0:
                raise ValueError("scale must be positive")
            self._scale = value

        def __call__(self, x):
            return super().__call__(x) * self._scale

    class Monitored(CountCalls, Scaled):
        pass

    class MonitoredPlain(CountCalls, Wrapper):
        pass

    paddle.seed(30)
    first = Monitored(nn.Linear(3, 3), scale=0.5)
    second = MonitoredPlain(nn.Linear(3, 2))

    def forward(x, scale=None):
        if scale is not None:
            try:
                first.scale = scale
            except ValueError as e:
                print("ignored:", e)
        y = second(paddle.tanh(first(x)))
        if y.mean() > 0:
            y = second(first(x))
        return (
            y,
            first.largest,
            first.weight.shape,
            dict(CountCalls.per_class),
            CountCalls.calls,
            first.scale,
        )

    function = convert(forward)

    def calls():
        paddle.seed(31)
        return [
            (paddle.randn([2, 3]),),
            (paddle.randn([2, 3]) * 5, 2.0),
            (paddle.randn([4, 3]), -1.0),
        ]

    for args in calls():
        yield attempt(lambda args=args: function(*args))


class Dual:
    __array_priority__ = 1000

    def __init__(self, value, tangent=0.0):
        self.value = value
        self.tangent = tangent

    @staticmethod
    def lift(other):
        if isinstance(other, Dual):
            return other
        if isinstance(other, (numbers.Number, paddle.Tensor)):
            return Dual(other)
        raise TypeError(f"cannot use {type(other).__name__} with a dual number")

    def __add__(self, other):
        other = Dual.lift(other)
        return Dual(self.value + other.value, self.tangent + other.tangent)

    __radd__ = __add__

    def __neg__(self):
        return Dual(-self.value, -self.tangent)

    def __sub__(self, other):
        return self + (-Dual.lift(other))

    def __rsub__(self, other):
        return Dual.lift(other) + (-self)

    def __mul__(self, other):
        other = Dual.lift(other)
        return Dual(
            self.value * other.value, self.value * other.tangent + self.tangent * other.value
        )

    __rmul__ = __mul__

    def __truediv__(self, other):
        other = Dual.lift(other)
        return Dual(
            self.value / other.value,
            (self.tangent * other.value - self.value * other.tangent) / (other.value * other.value),
        )

    def __pow__(self, n):
        if not isinstance(n, int):
            return NotImplemented
        return Dual(self.value**n, n * self.value ** (n - 1) * self.tangent)

    def __lt__(self, other):
        return self.value < Dual.lift(other).value

    def __gt__(self, other):
        return self.value > Dual.lift(other).value

    def __abs__(self):
        return -self if self < 0 else self

    def __bool__(self):
        return bool(self.value != 0)

    def __repr__(self):
        return f"Dual({float(self.value):.4f}, {float(self.tangent):.4f})"


def sin(d):
    return Dual(paddle.sin(d.value), paddle.cos(d.value) * d.tangent)


def derivative(f, x):
    return f(Dual(x, paddle.ones_like(x)))


def newton(f, x, tol=1e-9, max_iter=25):
    for i in range(max_iter):
        d = derivative(f, x)
        if abs(d.value) < tol:
            print("root after", i, d)
            return x
        if not Dual(d.tangent):
            raise ZeroDivisionError("flat")
        x = x - d.value / d.tangent
    return x


def solve(x, which):
    functions = {
        "cubic": lambda d: d**3 - 2 * d - 5,
        "wave": lambda d: sin(d) - d / 2 + 0.1,
        "kink": lambda d: abs(d - 1) * (d - 1) + 0.25,
    }
    try:
        return newton(functions[which], x)
    except (KeyError, ZeroDivisionError) as e:
        return f"{type(e).__name__}: {e}"


@program
def newton_by_dual_numbers(convert):
    """Forward-mode differentiation with dual numbers by operator overloading, and Newton's method on top."""
    function = convert(solve)

    def calls():
        def x(v):
            return paddle.to_tensor(v, dtype="float64")

        return [(x(2.0), "cubic"), (x(2.5), "wave"), (x(0.0), "kink")]

    for args in calls():
        yield attempt(lambda args=args: function(*args))


class Light(enum.Enum):
    RED = "red"
    GREEN = "green"
    YELLOW = "yellow"

    @property
    def duration(self):
        return {"red": 3, "green": 4, "yellow": 1}[self.value]

    def next(self):
        order = [Light.RED, Light.GREEN, Light.YELLOW]
        return order[(order.index(self) + 1) % 3]


class Crossing:
    TRANSITIONS = {
        ("red", "timeout"): "to_green",
        ("green", "timeout"): "to_yellow",
        ("green", "empty"): "to_yellow",
        ("yellow", "timeout"): "to_red",
    }

    def __init__(self):
        self.light = Light.RED
        self.clock = 0
        self.queue = paddle.zeros([2])
        self.served = paddle.zeros([])
        self.history = []

    def fire(self, event):
        action = self.TRANSITIONS.get((self.light.value, event))
        if action is None:
            return False
        getattr(self, action)()
        return True

    def _switch(self, light):
        self.history.append(f"{self.light.name}->{light.name}")
        self.light = light
        self.clock = 0

    def to_green(self):
        self._switch(Light.GREEN)

    def to_yellow(self):
        self._switch(Light.YELLOW)

    def to_red(self):
        self._switch(Light.RED)

    def tick(self, arrivals):
        self.queue = self.queue + arrivals
        self.clock += 1
        if self.light is Light.GREEN:
            out = paddle.minimum(self.queue, paddle.full([2], 2.0))
            self.queue = self.queue - out
            self.served = self.served + out.sum()
            if self.queue.sum() == 0:
                self.fire("empty")
                return
        if self.clock >= self.light.duration:
            self.fire("timeout")


@program
def crossing_with_an_enum(convert):
    """A traffic light as an enum state machine, and queues of cars that drive it."""
    crossing = Crossing()

    def simulate(arrivals):
        longest = paddle.zeros([])
        for row in arrivals:
            crossing.tick(row)
            total = crossing.queue.sum()
            longest = paddle.maximum(longest, total)
        print(" ".join(crossing.history))
        crossing.history.clear()
        return longest, crossing.served, crossing.light.name, crossing.queue

    function = convert(simulate)

    def calls():
        return [
            (paddle.to_tensor([[1.0, 0]] * 6),),
            (paddle.to_tensor([[2.0, 3], [0, 0], [1, 1], [0, 0], [0, 0]]),),
            (paddle.zeros([8, 2]),),
        ]

    for args in calls():
        yield attempt(lambda args=args: function(*args))


class Bounded:
    def __init__(self, low, high, default):
        self.low, self.high, self.default = low, high, default

    def __set_name__(self, owner, name):
        self.name = name
        self.slot = "_" + name

    def __get__(self, obj, owner=None):
        if obj is None:
            return self
        return getattr(obj, self.slot, self.default)

    def __set__(self, obj, value):
        if not self.low <= value <= self.high:
            raise ValueError(f"{self.name} must be in [{self.low}, {self.high}], got {value}")
        setattr(obj, self.slot, value)
        obj.invalidate()


class lazy:
    """Computed on first use, kept in the instance until it is invalidated."""

    def __init__(self, fn):
        self.fn = fn
        self.name = fn.__name__

    def __get__(self, obj, owner=None):
        if obj is None:
            return self
        if self.name not in obj.cache:
            obj.cache[self.name] = self.fn(obj)
        return obj.cache[self.name]


class GaussianProcess:
    length = Bounded(0.05, 10.0, 1.0)
    noise = Bounded(1e-6, 1.0, 0.1)

    def __init__(self, x, y, **hyper):
        self.x, self.y = x, y
        self.cache = {}
        self.factorised = 0
        for k, v in hyper.items():
            setattr(self, k, v)

    def invalidate(self):
        self.cache = {}

    def kernel(self, a, b):
        d = a.unsqueeze(1) - b.unsqueeze(0)
        return paddle.exp(-0.5 * (d / self.length) ** 2)

    @lazy
    def chol(self):
        self.factorised += 1
        k = self.kernel(self.x, self.x)
        return paddle.linalg.cholesky(k + self.noise * paddle.eye(self.x.shape[0], dtype=k.dtype))

    @lazy
    def weights(self):
        return paddle.linalg.cholesky_solve(self.y.unsqueeze(-1), self.chol).squeeze(-1)

    def log_likelihood(self):
        fit = -0.5 * (self.y * self.weights).sum()
        return fit - paddle.log(paddle.diagonal(self.chol)).sum()

    def predict(self, x):
        k = self.kernel(x, self.x)
        return k @ self.weights


def tune(x, y, queries, candidates):
    gp = GaussianProcess(x, y, noise=0.05)
    best, best_ll = gp.length, gp.log_likelihood()
    for c in candidates:
        try:
            gp.length = c
        except ValueError as e:
            print("skipped:", e)
            continue
        ll = gp.log_likelihood()
        if ll > best_ll:
            best, best_ll = c, ll
    gp.length = best
    return gp.predict(queries), best_ll, best, gp.factorised


@program
def gaussian_process_with_lazy_parts(convert):
    """Descriptors that validate and lazily compute, on a Gaussian process with cached factorisation."""
    function = convert(tune)

    def calls():
        def t(*v):
            return paddle.to_tensor(v, dtype="float64")

        x = t(0.0, 0.5, 1.0, 1.5, 2.0)
        return [
            (x, paddle.sin(3 * x), t(0.25, 0.75), [0.3, 0.6, 20.0]),
            (x[:4], x[:4] * 0.5, t(0.1, 0.2, 0.3), [0.01, 2.0, 4.0]),
            (x, paddle.cos(x), t(1.1), []),
        ]

    for args in calls():
        yield attempt(lambda args=args: function(*args))


class AttrDict(dict):
    def __getattr__(self, name):
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name, value):
        self[name] = value

    def merged(self, **changes):
        out = AttrDict(self)
        out.update(changes)
        return out


class History(list):
    """A list of scalars that knows its mean and its trend."""

    def __init__(self, values=(), window=4):
        super().__init__(values)
        self.window = window

    @property
    def mean(self):
        return sum(self) / len(self)

    def recent(self):
        return History(self[-self.window :], self.window)

    def improving(self):
        if len(self) < 2:
            return True
        return bool(self[-1] < self.recent().mean)

    def append(self, value):
        super().append(value.detach() if isinstance(value, paddle.Tensor) else value)
        if len(self) > 2 * self.window:
            del self[0]


class MetricDict(dict):
    def __missing__(self, key):
        self[key] = History()
        return self[key]

    def summary(self):
        return {k: round(float(v.mean), 4) for k, v in sorted(self.items())}


@program
def history_in_a_list_of_ones_own(convert):
    """Containers derived from list and dict: a history with statistics, a config with attribute access."""
    paddle.seed(33)
    cfg = AttrDict(lr=0.2, decay=0.5, min_lr=0.01)
    net = nn.Linear(3, 1)
    metrics = MetricDict()

    def train(x, y, steps):
        run = cfg.merged(steps=steps)
        for _ in range(run.steps):
            out = net(x)
            loss = ((out - y) ** 2).mean()
            grads = paddle.grad(loss, net.parameters())
            with paddle.no_grad():
                for p, g in zip(net.parameters(), grads):
                    p.set_value(p - run.lr * g)
            metrics["loss"].append(loss)
            metrics["norm"].append(sum((g * g).sum() for g in grads).sqrt())
            if not metrics["loss"].improving():
                run.lr = max(run.lr * run.decay, run.min_lr)
        if not hasattr(run, "momentum"):
            run.momentum = 0.0
        return metrics.summary(), round(run.lr, 4), len(metrics["loss"]), dict(cfg)

    function = convert(train)

    def calls():
        paddle.seed(34)
        x = paddle.randn([6, 3])
        return [
            (x, x.sum(axis=1, keepdim=True), 3),
            (x * 3, x.sum(axis=1, keepdim=True), 4),
            (x[:2], x[:2, :1], 3),
        ]

    for args in calls():
        yield attempt(lambda args=args: function(*args))


@dataclass(order=True)
class Event:
    time: float
    order: int
    kind: str = field(compare=False)
    customer: int = field(compare=False)


class Simulation:
    def __init__(self, servers):
        self.servers = servers
        self.busy = 0
        self.waiting = []
        self.events = []
        self.sequence = itertools.count()
        self.now = 0.0
        self.waits = {}

    def schedule(self, delay, kind, customer):
        if delay < 0:
            raise ValueError(f"event {kind} of customer {customer} lies in the past")
        heapq.heappush(
            self.events, Event(self.now + float(delay), next(self.sequence), kind, customer)
        )

    def start(self, customer, arrived, service):
        self.busy += 1
        self.waits[customer] = self.now - arrived
        self.schedule(service[customer], "departure", customer)

    def run(self, arrivals, service):
        arrived = {}
        for c in range(arrivals.shape[0]):
            self.schedule(arrivals[c], "arrival", c)
        while self.events:
            event = heapq.heappop(self.events)
            self.now = event.time
            if event.kind == "arrival":
                arrived[event.customer] = self.now
                if self.busy < self.servers:
                    self.start(event.customer, self.now, service)
                else:
                    self.waiting.append(event.customer)
            elif event.kind == "departure":
                self.busy -= 1
                if self.waiting:
                    nxt = self.waiting.pop(0)
                    self.start(nxt, arrived[nxt], service)
        return self.now, paddle.to_tensor([self.waits[c] for c in sorted(self.waits)])


def simulate(gaps, service, servers=1):
    sim = Simulation(servers)
    try:
        end, waits = sim.run(paddle.cumsum(gaps), service)
    except ValueError as e:
        print("error:", e)
        return None
    mean = waits.mean()
    if mean > 1.0:
        print("overloaded")
    return round(end, 3), waits, mean


@program
def queue_of_dataclass_events(convert):
    """Discrete event simulation of a queue with several servers; service times are tensors."""
    function = convert(simulate)

    def calls():
        def t(*v):
            return paddle.to_tensor(v)

        return [
            (t(0.5, 0.2, 1.0, 0.1), t(1.0, 2.0, 0.3, 0.5)),
            (t(0.5, 0.2, 1.0, 0.1, 0.4), t(1.0, 2.0, 0.3, 0.5, 0.1), 2),
            (t(0.5, 0.2), t(1.0, -2.0)),
        ]

    for args in calls():
        yield attempt(lambda args=args: function(*args))
