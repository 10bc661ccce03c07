"""State in containers and classes of one's own: mappings, descriptors, coroutines, modes, records."""

import bisect
import contextvars
import copy
import enum
import heapq
import itertools
import random
from collections import Counter, OrderedDict, UserDict, UserList, defaultdict, deque, namedtuple
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property, partialmethod
from types import SimpleNamespace
from typing import ClassVar, Protocol

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import attempt, program


@program
def lru_of_key_value_blocks(convert):
    """A cache of prefixes by tuples of ids in an OrderedDict; hits move to the end, old ones go."""

    class BlockCache:
        def __init__(self, capacity):
            self.capacity, self.blocks = capacity, OrderedDict()
            self.hits = self.misses = 0

        def get(self, key):
            if key not in self.blocks:
                self.misses += 1
                return None
            self.hits += 1
            self.blocks.move_to_end(key)
            return self.blocks[key]

        def put(self, key, value):
            self.blocks[key] = value
            if len(self.blocks) > self.capacity:
                self.blocks.popitem(last=False)

    class PrefixEncoder(nn.Layer):
        def __init__(self, vocab=8, dim=4, capacity=3, block=2):
            super().__init__()
            self.embed, self.cell = nn.Embedding(vocab, dim), nn.SimpleRNNCell(dim, dim)
            self.cache, self.block, self.dim = BlockCache(capacity), block, dim

        @convert
        def run_block(self, state, ids):
            norms = []
            for t in range(ids.shape[0]):
                _, state = self.cell(self.embed(ids[t : t + 1]), state)
                if state.norm() > 1.0:
                    state = state / state.norm()
                norms.append(state.norm())
            return state, paddle.stack(norms)

        def forward(self, ids):
            state = paddle.zeros([1, self.dim])
            for start in range(0, len(ids), self.block):
                key = tuple(ids[: start + self.block])
                cached = self.cache.get(key)
                if cached is None:
                    block = paddle.to_tensor(ids[start : start + self.block])
                    state, _ = self.run_block(state, block)
                    self.cache.put(key, state)
                else:
                    state = cached
            return state

    paddle.seed(3)
    model = PrefixEncoder()
    with paddle.no_grad():
        for ids in ([1, 2, 3, 4], [1, 2, 3, 5, 6], [1, 2, 3, 4], [7, 7, 7], [1, 2]):
            yield model(ids), model.cache.hits, model.cache.misses, list(model.cache.blocks)


@program
def thermostat_with_modes(convert):
    """A controller whose mode is a member of an enum that the readings change."""

    class Mode(enum.Enum):
        OFF = 0
        HEAT = 1
        COOL = 2

        @property
        def gain(self):
            return {"OFF": 0.0, "HEAT": 0.8, "COOL": -0.6}[self.name]

        def opposite(self):
            return {Mode.HEAT: Mode.COOL, Mode.COOL: Mode.HEAT}.get(self, Mode.OFF)

    @dataclass
    class Thermostat:
        target: float = 20.0
        band: float = 1.0
        mode: Mode = Mode.OFF
        switches: int = 0
        integral: paddle.Tensor = field(default_factory=lambda: paddle.zeros([]))

        def enter(self, mode):
            if mode is not self.mode:
                self.switches += 1
            self.mode = mode

        @convert
        def control(self, temperature, dt=1.0):
            error = self.target - temperature
            self.integral = paddle.clip(self.integral + error * dt, -5.0, 5.0)
            if error > self.band:
                self.enter(Mode.HEAT)
            elif error < -self.band:
                self.enter(Mode.COOL)
            elif self.mode is not Mode.OFF and error.abs() < self.band / 2:
                self.enter(Mode.OFF)
            power = self.mode.gain * (1.0 + 0.1 * self.integral.abs())
            return power, self.mode.name

    thermostat = Thermostat()
    temperature = paddle.to_tensor(16.0)
    for step in range(8):
        power, name = thermostat.control(temperature)
        temperature = temperature + power * 2.0 + (0.5 if step % 2 else -0.25)
        yield power, name, thermostat.switches, temperature
    thermostat.mode = thermostat.mode.opposite()
    yield thermostat.control(paddle.to_tensor(20.8), dt=0.5), thermostat


@program
def turnstile_by_enum_in_a_loop(convert):
    """A machine with an enum of states that runs over a whole sequence of events, and counts."""

    class State(enum.IntEnum):
        LOCKED = 0
        OPEN = 1
        BROKEN = 2

    class Turnstile:
        def __init__(self):
            self.state = State.LOCKED
            self.passed = 0
            self.alarms = Counter()

        @convert
        def feed(self, events):
            """0: push, 1: coin, 2: kick."""
            for event in events:
                if self.state == State.LOCKED:
                    if event == 1:
                        self.state = State.OPEN
                    elif event == 2:
                        self.alarms["kick"] += 1
                        if self.alarms["kick"] >= 2:
                            self.state = State.BROKEN
                elif self.state == State.OPEN:
                    if event == 0:
                        self.passed += 1
                        self.state = State.LOCKED
                else:
                    self.alarms["ignored"] += 1
            return self.state, self.passed

    turnstile = Turnstile()
    for events in ([1, 0, 0], [1, 1, 0], [2, 1], [0, 2], [2, 2], [1, 0, 2]):
        yield turnstile.feed(paddle.to_tensor(events)), dict(turnstile.alarms)


@program
def parameters_in_a_mapping_of_ones_own(convert):
    """A MutableMapping of named tensors with arithmetic, like the trees of JAX, in two solvers."""

    class Params(MutableMapping):
        def __init__(self, **tensors):
            self._data = dict(tensors)

        def __getitem__(self, key):
            return self._data[key]

        def __setitem__(self, key, value):
            self._data[key] = value

        def __delitem__(self, key):
            del self._data[key]

        def __iter__(self):
            return iter(self._data)

        def __len__(self):
            return len(self._data)

        def map(self, fn, *others):
            return Params(**{k: fn(v, *(o[k] for o in others)) for k, v in self.items()})

        def __add__(self, other):
            return self.map(lambda a, b: a + b, other)

        def __rmul__(self, scale):
            return self.map(lambda a: scale * a)

        def __sub__(self, other):
            return self + -1.0 * other

        def dot(self, other):
            return sum((a * b).sum() for a, b in zip(self.values(), other.values()))

    def value_and_grad(loss, params, *args):
        leaves = params.map(lambda p: p.detach())
        for leaf in leaves.values():
            leaf.stop_gradient = False
        value = loss(leaves, *args)
        grads = paddle.grad(value, list(leaves.values()))
        return value.detach(), Params(**dict(zip(leaves, grads)))

    def loss(params, x, y):
        h = paddle.tanh(x @ params["w1"] + params["b1"])
        return F.mse_loss(h @ params["w2"], y)

    @convert
    def descend(params, x, y, rate=0.1, steps=3):
        for _ in range(steps):
            value, grads = value_and_grad(loss, params, x, y)
            params = params - rate * grads
        return value, params

    @convert
    def line_search(params, x, y, rate=4.0, shrink=0.5, c=0.3):
        value, grads = value_and_grad(loss, params, x, y)
        slope = grads.dot(grads)
        trial = params - rate * grads
        count = 0
        while loss(trial, x, y) > value - c * rate * slope:
            rate = rate * shrink
            trial = params - rate * grads
            count += 1
            if count == 6:
                break
        trial["count"] = paddle.to_tensor(count)
        return trial, rate

    rng = np.random.RandomState(2)
    params = Params(
        w1=paddle.to_tensor(rng.randn(2, 3).astype("float32")),
        b1=paddle.zeros([3]),
        w2=paddle.to_tensor(rng.randn(3, 1).astype("float32")),
    )
    for n in (4, 6, 4):
        x = paddle.to_tensor(rng.randn(n, 2).astype("float32"))
        y = x.sum(axis=1, keepdim=True)
        value, params = descend(params, x, y)
        yield value, dict(params), len(params)
        trial, rate = line_search(params, x, y)
        yield dict(trial), rate
        del trial["count"]
        params = trial


@program
def coroutines_that_average(convert):
    """Generators that receive values by send, a chain of them, and a round robin of producers."""

    def averager(decay):
        mean = None
        while True:
            sample = yield mean
            mean = sample if mean is None else decay * mean + (1 - decay) * sample

    def limited(limit):
        out = None
        while True:
            sample = yield out
            out = paddle.clip(sample, -limit, limit)

    def chunks(signal, size):
        for start in range(0, signal.shape[0], size):
            yield signal[start : start + size]

    def round_robin(*iterables):
        pending = deque(map(iter, iterables))
        while pending:
            current = pending.popleft()
            try:
                yield next(current)
            except StopIteration:
                continue
            pending.append(current)

    @convert
    def smooth(signal, limit, decay=0.5):
        stages = [limited(limit), averager(decay)]
        for stage in stages:
            next(stage)
        out = []
        for sample in signal:
            for stage in stages:
                sample = stage.send(sample)
            if sample > 0.9 * limit:
                sample = sample * 0.5
            out.append(sample)
        return paddle.stack(out)

    @convert
    def interleaved(a, b, size):
        total = paddle.zeros([])
        sums = []
        for chunk in round_robin(chunks(a, size), chunks(b, size)):
            total = total * 0.5 + chunk.sum()
            if total < 0:
                break
            sums.append(total)
        return len(sums), total

    rng = np.random.RandomState(6)
    for n, limit in ((5, 1.0), (7, 0.5), (5, 2.0)):
        a = paddle.to_tensor(rng.randn(n).astype("float32") + 0.3)
        b = paddle.to_tensor(rng.randn(n - 2).astype("float32") + 0.3)
        yield smooth(a, limit)
        yield interleaved(a, b, 2)


@program
def descriptors_and_delegation(convert):
    """Validated fields by descriptors, wrappers that pass attributes on, methods made by partial."""

    class Bounded:
        def __init__(self, low, high):
            self.low, self.high = low, high

        def __set_name__(self, owner, name):
            self.name = "_" + name

        def __get__(self, instance, owner=None):
            if instance is None:
                return self
            return getattr(instance, self.name)

        def __set__(self, instance, value):
            if (value < self.low) or (value > self.high):
                raise ValueError(f"{self.name[1:]} must lie between {self.low} and {self.high}")
            setattr(instance, self.name, value)

    class Joint:
        angle = Bounded(-1.5, 1.5)
        speed = Bounded(-3.0, 3.0)

        def __init__(self, angle=0.0):
            self.angle = paddle.to_tensor(angle)
            self.speed = paddle.to_tensor(0.0)

        @convert
        def drive(self, torque, dt=0.1):
            speed = self.speed + dt * (torque - 0.2 * self.speed)
            self.speed = speed
            self.angle = self.angle + dt * speed
            return self.angle

        push = partialmethod(drive, dt=0.5)

    class Logged:
        """Passes everything on, and counts the calls."""

        def __init__(self, inner):
            self._inner, self._calls = inner, Counter()

        def __getattr__(self, name):
            value = getattr(self._inner, name)
            if callable(value):

                def wrapper(*args, **kwargs):
                    self._calls[name] += 1
                    return value(*args, **kwargs)

                return wrapper
            return value

    joint = Logged(Joint(0.2))
    for torque in (1.0, 2.0, -3.0):
        yield joint.drive(paddle.to_tensor(torque)), joint.speed
    yield joint.push(paddle.to_tensor(1.0))
    yield attempt(lambda: joint.drive(paddle.to_tensor(60.0)))
    yield joint.angle, joint.speed, dict(joint._calls)
    yield attempt(lambda: setattr(joint._inner, "angle", paddle.to_tensor(9.0)))

    @convert
    def sweep(torques):
        arm = Joint()
        for torque in torques:
            arm.drive(torque)
        return arm.angle, arm.speed

    yield sweep(paddle.to_tensor([0.5, 0.5, -1.0])), sweep(paddle.to_tensor([3.0, 1.0]))


@program
def records_and_pattern_matching(convert):
    """Instructions as dataclasses, dispatched by match, with guards that ask tensors."""

    @dataclass(frozen=True)
    class Push:
        value: float

    @dataclass(frozen=True)
    class Binary:
        op: str

    @dataclass(frozen=True)
    class Jump:
        target: int
        when: str = "always"

    @dataclass(frozen=True)
    class Store:
        slot: str

    Result = namedtuple("Result", "stack memory steps", defaults=(0,))

    @convert
    def execute(code, memory, limit=30):
        stack, memory, pc, steps = [], dict(memory), 0, 0
        while pc < len(code) and steps < limit:
            steps += 1
            match code[pc]:
                case Push(value=float() as v):
                    stack.append(paddle.to_tensor(v))
                case Push(value=str() as name):
                    stack.append(memory[name])
                case Binary(op="add" | "mul" as op):
                    b, a = stack.pop(), stack.pop()
                    stack.append(a + b if op == "add" else a * b)
                case Binary(op="sub"):
                    b, a = stack.pop(), stack.pop()
                    stack.append(a - b)
                case Store(slot):
                    memory[slot] = stack.pop()
                case Jump(target, when="positive") if stack.pop() > 0:
                    pc = target
                    continue
                case Jump(target, when="always"):
                    pc = target
                    continue
                case Jump():
                    pass
                case other:
                    raise TypeError(f"unknown instruction {other!r}")
            pc += 1
        return Result(stack, memory)._replace(steps=steps)

    straight = [
        Push(2.0),
        Push("x"),
        Binary("mul"),
        Push(1.0),
        Binary("sub"),
        Store("y"),
        Push("y"),
    ]
    branch = [
        Push("x"),
        Jump(4, "positive"),
        Push(-1.0),
        Jump(5),
        Push(1.0),
        Push("x"),
        Binary("add"),
    ]
    for x in (3.0, -2.0):
        for code in (straight, branch):
            yield execute(code, {"x": paddle.to_tensor(x)})
    yield attempt(lambda: execute([Push(1.0), "halt"], {}))


@program
def priority_and_bisection_structures(convert):
    """A calendar by heapq on Python times, a table by bisect, groups, and tensors as the load."""

    @dataclass(order=True)
    class Job:
        at: float
        name: str = field(compare=False)
        work: paddle.Tensor = field(compare=False, repr=False)

    class Calendar:
        def __init__(self, rates):
            self.jobs, self.log = [], defaultdict(list)
            self.bounds = [b for b, _ in rates]
            self.rates = [r for _, r in rates]

        def add(self, *jobs):
            for job in jobs:
                heapq.heappush(self.jobs, job)

        def rate(self, at):
            return self.rates[max(bisect.bisect_right(self.bounds, at) - 1, 0)]

        @convert
        def run(self, until, threshold=2.0):
            total = paddle.zeros([])
            while self.jobs and self.jobs[0].at <= until:
                job = heapq.heappop(self.jobs)
                cost = job.work.sum() * self.rate(job.at)
                if cost > threshold:
                    half = replace(job, at=job.at + 1.0, work=job.work / 2)
                    total = total + threshold / 2
                    self.log["split"].append(half.work.sum())
                else:
                    total = total + cost
                    self.log["done"].append(cost)
            return total

    @convert
    def grouped(rows, keys):
        out = {}
        order = sorted(range(len(keys)), key=keys.__getitem__)
        for key, group in itertools.groupby(order, key=lambda i: keys[i]):
            members = rows[list(group)]
            best = members.max(axis=0)
            if best.sum() < 0:
                continue
            out[key] = best
        return [k for k in out], paddle.stack(list(out.values())) if out else None

    calendar = Calendar([(0.0, 1.0), (2.0, 0.5), (5.0, 2.0)])
    rng = np.random.RandomState(1)
    for until in (1.0, 3.0, 6.0):
        calendar.add(
            *(
                Job(
                    round(float(t), 3), f"j{k}", paddle.to_tensor(rng.rand(3).astype("float32") * 2)
                )
                for k, t in enumerate(rng.uniform(until - 1, until + 1, 3))
            )
        )
        yield calendar.run(until), len(calendar.jobs), dict(calendar.log)
    for keys in (["b", "a", "b"], ["a", "a", "c"]):
        yield grouped(paddle.to_tensor(rng.rand(3, 2).astype("float32")), keys)


@program
def user_dict_and_namespace_state(convert):
    """A UserDict with defaults, a UserList that sums, namespaces as state, class counters."""

    class Stats(UserDict):
        def __missing__(self, key):
            self.data[key] = paddle.zeros([2])
            return self.data[key]

        def push(self, key, value):
            n_sum = self[key]
            self[key] = n_sum + paddle.stack([paddle.to_tensor(1.0), value])

    class Trace(UserList):
        def total(self):
            return sum(self.data, paddle.zeros([]))

    class Meter:
        made: ClassVar[int] = 0

        def __init__(self):
            type(self).made += 1
            self.state = SimpleNamespace(best=None, age=0)
            self.stats, self.trace = Stats(), Trace()

        @convert
        def update(self, **values):
            for key, value in values.items():
                value = value.mean()
                self.stats.push(key, value)
                self.trace.append(value)
            self.state.age += 1
            current = self.trace.total()
            if self.state.best is None or current > self.state.best:
                self.state.best = current
                self.state.age = 0
            return current, self.state.age

        @cached_property
        def ident(self):
            return f"meter-{self.made}"

    rng = np.random.RandomState(9)
    for _ in range(2):
        meter = Meter()
        for n in (2, 3, 2):
            x = paddle.to_tensor(rng.randn(n).astype("float32"))
            yield meter.update(loss=x, norm=x.abs()), meter.ident
        yield meter.update(extra=-x), meter.state, dict(meter.stats), list(meter.trace)


@program
def context_variables_and_snapshots(convert):
    """A current policy in a ContextVar, undo by snapshots, a protocol, and a seeded Random."""

    current = contextvars.ContextVar("policy", default="plain")

    class Policy(Protocol):
        def apply(self, x): ...

    class Plain:
        def apply(self, x):
            return x

    class Scaled:
        def __init__(self, factor):
            self.factor = factor

        def apply(self, x):
            return x * self.factor

    POLICIES: dict[str, Policy] = {"plain": Plain(), "double": Scaled(2.0), "half": Scaled(0.5)}

    class Document:
        def __init__(self, values):
            self.values, self.undo_stack = values, []

        def snapshot(self):
            self.undo_stack.append(copy.copy(self.__dict__)["values"])

        @convert
        def edit(self, index, amount):
            self.snapshot()
            change = POLICIES[current.get()].apply(amount)
            values = self.values.clone()
            values[index] += change
            if values.abs().max() > 5:
                self.undo_stack.pop()
                return False
            self.values = values
            return True

        def undo(self):
            self.values = self.undo_stack.pop()

    rng = random.Random(4)
    doc = Document(paddle.zeros([3]))
    for name in ("plain", "double", "half", "double"):
        token = current.set(name)
        for _ in range(2):
            i, amount = rng.randrange(3), round(rng.uniform(-2, 3), 2)
            yield name, i, doc.edit(i, paddle.to_tensor(amount)), doc.values, len(doc.undo_stack)
        current.reset(token)
    doc.undo()
    yield doc.values, doc.edit(0, paddle.to_tensor(0.5)), doc.values


@program
def fields_of_a_tree_walked_by_reflection(convert):
    """Pytrees by hand: dataclasses, dicts and tuples are flattened by fields, mapped, rebuilt."""

    @dataclass
    class Moments:
        mean: paddle.Tensor
        var: paddle.Tensor

    @dataclass
    class State:
        step: int
        moments: Moments
        extras: dict = field(default_factory=dict)

    def flatten(tree):
        if isinstance(tree, paddle.Tensor):
            return [tree]
        if hasattr(tree, "__dataclass_fields__"):
            return [leaf for f in fields(tree) for leaf in flatten(getattr(tree, f.name))]
        if isinstance(tree, Mapping):
            return [leaf for k in sorted(tree) for leaf in flatten(tree[k])]
        if isinstance(tree, (list, tuple)):
            return list(itertools.chain.from_iterable(map(flatten, tree)))
        return []

    def tree_map(fn, tree):
        if isinstance(tree, paddle.Tensor):
            return fn(tree)
        if hasattr(tree, "__dataclass_fields__"):
            return type(tree)(**{f.name: tree_map(fn, getattr(tree, f.name)) for f in fields(tree)})
        if isinstance(tree, Mapping):
            return {k: tree_map(fn, v) for k, v in tree.items()}
        if isinstance(tree, (list, tuple)):
            return type(tree)(tree_map(fn, v) for v in tree)
        return tree

    @convert
    def global_norm(tree):
        return paddle.sqrt(sum((leaf**2).sum() for leaf in flatten(tree)))

    @convert
    def clipped(tree, limit):
        norm = global_norm(tree)
        if norm > limit:
            return tree_map(lambda leaf: leaf * (limit / norm), tree)
        return tree

    @convert
    def update(state, x, beta=0.9):
        m = state.moments
        delta = x - m.mean
        state.moments = Moments(m.mean + (1 - beta) * delta, beta * m.var + (1 - beta) * delta**2)
        state.step += 1
        if state.moments.var.max() > 1.0:
            state.extras["spike"] = x.max()
        return state

    state = State(0, Moments(paddle.zeros([2]), paddle.zeros([2])))
    for values in ([1.0, 2.0], [9.0, 0.0], [0.5, 0.5]):
        state = update(state, paddle.to_tensor(values))
        yield state, global_norm(state)
        yield clipped(state, 1.0)
    yield clipped({"a": [paddle.ones([2])], "b": (paddle.zeros([1]), 3)}, 5.0)
