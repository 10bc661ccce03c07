"""Software with tensors in it: rules, units of work, adapters, saga steps, plans, schemas, tables of dispatch."""

import contextlib
import enum
import functools
import heapq
import inspect
import io
import itertools
import json
import operator
import typing
from collections import Counter, defaultdict, deque
from dataclasses import dataclass, replace
from functools import (
    reduce,
    singledispatch,
    total_ordering,
    wraps,
)
from typing import Any, Generic, TypeVar

import numpy as np
import paddle

from corpus.realistic import attempt, program

T = paddle.to_tensor


@program
def units_of_work_with_rollback(convert):
    """A store of tensors with transactions: nested savepoints, a journal, constraints checked at commit, rollback by exceptions."""

    class IntegrityError(Exception):
        def __init__(self, key, why):
            super().__init__(key, why)
            self.key, self.why = key, why

        def __str__(self):
            return f"[{self.key}] {self.why}"

    class Store:
        def __init__(self, **values):
            self._data = dict(values)
            self._stack = []
            self.journal = deque(maxlen=6)
            self.checks = {}

        def constraint(self, key):
            def register(fn):
                self.checks.setdefault(key, []).append(fn)
                return fn

            return register

        def __getitem__(self, key):
            for layer in reversed(self._stack):
                if key in layer:
                    return layer[key]
            return self._data[key]

        def __setitem__(self, key, value):
            (self._stack[-1] if self._stack else self._data)[key] = value

        def __contains__(self, key):
            return any(key in layer for layer in (self._data, *self._stack))

        @contextlib.contextmanager
        def transaction(self, name="tx"):
            self._stack.append({})
            try:
                yield self
            except IntegrityError as e:
                self._stack.pop()
                self.journal.append(f"{name}: rolled back {e}")
                raise
            else:
                layer = self._stack.pop()
                target = self._stack[-1] if self._stack else self._data
                for key, value in layer.items():
                    for check in self.checks.get(key, ()):
                        ok, why = check(value)
                        if not ok:
                            self.journal.append(f"{name}: refused {key}")
                            raise IntegrityError(key, why)
                    target[key] = value
                self.journal.append(f"{name}: {sorted(layer)}")

    store = Store(a=T([10.0, 20.0]), b=T([0.0, 5.0]))

    @store.constraint("a")
    @store.constraint("b")
    def positive(v):
        return v.min() >= 0, f"balance {float(v.min()):.1f}"

    @store.constraint("b")
    def capped(v):
        return v.max() < 100, "over the cap"

    def transfer(amount, fee=0.5):
        moved = paddle.zeros([])
        try:
            with store.transaction("outer"):
                store["a"] = store["a"] - amount
                store["b"] = store["b"] + amount
                moved = moved + amount.sum()
                try:
                    with store.transaction("fee"):
                        store["b"] = store["b"] - fee
                        if store["b"].sum() > 20:
                            raise IntegrityError("fee", "waived")
                except IntegrityError:
                    fee = 0.0
        except IntegrityError as e:
            return e.key, moved, fee
        return "ok", moved, fee

    run = convert(transfer)
    for amount in ([1.0, 2.0], [20.0, 0.0], [5.0, 9.0], [-3.0, -60.0], [0.0, 4.0]):
        yield attempt(lambda: run(T(amount))), store["a"], store["b"], list(store.journal)
    yield "c" in store, attempt(lambda: run(T([1.0, 1.0]), fee=50.0)), list(store.journal)


@program
def commands_in_a_saga(convert):
    """Commands with compensation, dispatched by enums and Flags; a middleware chain built by reduce; an audit in JSON."""

    class Perm(enum.Flag):
        NONE = 0
        READ = enum.auto()
        WRITE = enum.auto()
        ADMIN = READ | WRITE

    class Kind(str, enum.Enum):
        SCALE = "scale"
        SHIFT = "shift"
        CLIP = "clip"

        @property
        def needs(self):
            return Perm.READ if self is Kind.CLIP else Perm.ADMIN

    @dataclass(frozen=True)
    class Command:
        kind: Kind
        arg: float
        by: Perm = Perm.ADMIN

        def __post_init__(self):
            object.__setattr__(self, "kind", Kind(self.kind))

        def apply(self, x):
            return {
                Kind.SCALE: lambda: x * self.arg,
                Kind.SHIFT: lambda: x + self.arg,
                Kind.CLIP: lambda: x.clip(-self.arg, self.arg),
            }[self.kind]()

        def undo(self, x):
            if self.kind is Kind.SCALE:
                return x / self.arg
            elif self.kind is Kind.SHIFT:
                return x - self.arg
            raise NotImplementedError(f"{self.kind.value} cannot be undone")

    class Denied(PermissionError):
        pass

    def audited(log):
        def middleware(nxt):
            def handle(cmd, x):
                out = nxt(cmd, x)
                log.append({"kind": cmd.kind.value, "norm": round(out.norm().item(), 3)})
                return out

            return handle

        return middleware

    def authorised(nxt):
        def handle(cmd, x):
            if cmd.kind.needs not in cmd.by:
                raise Denied(f"{cmd.kind.value} needs {cmd.kind.needs.name}")
            return nxt(cmd, x)

        return handle

    def bounded(limit):
        return lambda nxt: lambda cmd, x: nxt(replace(cmd, arg=min(cmd.arg, limit)), x)

    log = []
    pipeline = reduce(
        lambda h, m: m(h),
        reversed([authorised, bounded(8.0), audited(log)]),
        lambda c, x: c.apply(x),
    )

    def saga(x, commands, limit=20.0):
        done, start = [], x
        try:
            for cmd in commands:
                x = pipeline(cmd, x)
                done.append(cmd)
                if x.abs().max() > limit:
                    raise OverflowError(f"{cmd.kind.name.title()} left {x.abs().max():.2f}")
        except (OverflowError, Denied) as e:
            note = f"{type(e).__name__}: {e}"
            while done:
                try:
                    x = done.pop().undo(x)
                except NotImplementedError as n:
                    return start, f"{note}; {n}"
            return x, note
        finally:
            log.append({"left": len(done)})
        return x, f"{len(done)} applied"

    run = convert(saga)
    C = Command
    x = T([1.0, -2.0, 3.0])
    yield run(x, [C("scale", 2.0), C("shift", 1.0), C("clip", 4.0)])
    yield run(x, [C("shift", 5.0), C("scale", 9.0)])
    yield run(x, [C("clip", 1.0), C("scale", 30.0)], 5.0)
    yield run(x, [C("scale", 3.0), C("shift", 1.0, by=Perm.READ)])
    yield json.dumps(log), attempt(lambda: C("rotate", 1.0))
    yield run(x * 10, [C("scale", 0.5)]), Perm.ADMIN & ~Perm.READ


@program
def plans_optimised_before_they_run(convert):
    """A lazy query over columns: operators build nodes, a visitor pushes filters down, explain prints, then it executes."""

    class Node:
        def __and__(self, other):
            return Bin(operator.and_, "&", self, lift(other))

        def __gt__(self, other):
            return Bin(operator.gt, ">", self, lift(other))

        def __lt__(self, other):
            return Bin(operator.lt, "<", self, lift(other))

        def __mul__(self, other):
            return Bin(operator.mul, "*", self, lift(other))

        __rmul__ = __mul__

    @dataclass(eq=False)
    class Col(Node):
        name: str

        def eval(self, t):
            return t[self.name]

        def cols(self):
            return {self.name}

        def __str__(self):
            return self.name

    @dataclass(eq=False)
    class Lit(Node):
        value: Any

        def eval(self, t):
            return self.value

        def cols(self):
            return set()

        def __str__(self):
            return f"{self.value:g}" if isinstance(self.value, float) else str(self.value)

    @dataclass(eq=False)
    class Bin(Node):
        op: Any
        sign: str
        a: Node
        b: Node

        def eval(self, t):
            return self.op(self.a.eval(t), self.b.eval(t))

        def cols(self):
            return self.a.cols() | self.b.cols()

        def __str__(self):
            return f"({self.a} {self.sign} {self.b})"

    lift = lambda v: v if isinstance(v, Node) else Lit(v)

    class Query:
        def __init__(self, steps=()):
            self.steps = tuple(steps)

        def __getattr__(self, name):
            if name.startswith("_") or name not in ("filter", "derive", "sort", "limit"):
                raise AttributeError(f"no operator {name!r}")
            return lambda *a, **k: Query((*self.steps, (name, a, k)))

        def optimise(self):
            steps = list(self.steps)
            changed = True
            while changed:
                changed = False
                for i in range(len(steps) - 1):
                    (n1, a1, k1), (n2, a2, _) = steps[i], steps[i + 1]
                    free = (
                        n1 == "sort" or (n1 == "derive" and not a2[0].cols() & set(k1))
                        if n2 == "filter"
                        else False
                    )
                    if free:
                        steps[i], steps[i + 1] = steps[i + 1], steps[i]
                        changed = True
            return Query(steps)

        def explain(self):
            return " -> ".join(
                f"{n}({', '.join([*map(str, a), *(f'{k}={v}' for k, v in kw.items())])})"
                for n, a, kw in self.steps
            )

        def run(self, table):
            sizes = []
            for name, args, kw in self.steps:
                match name, args, kw:
                    case "filter", (cond,), {}:
                        keep = cond.eval(table)
                        table = {k: v[keep] for k, v in table.items()}
                    case "derive", (), {**named}:
                        table = table | {k: e.eval(table) for k, e in named.items()}
                    case "sort", (key, *rest), _:
                        order = table[key].argsort(descending=bool(rest and rest[0] == "desc"))
                        table = {k: v[order] for k, v in table.items()}
                    case "limit", (n,), _:
                        table = {k: v[:n] for k, v in table.items()}
                size = next(iter(table.values())).shape[0]
                if size == 0:
                    raise LookupError(f"nothing left after {name}")
                sizes.append(size)
            return table, sizes

    price, qty = Col("price"), Col("qty")
    q = (
        Query()
        .derive(total=price * qty)
        .sort("total", "desc")
        .filter((price > 2.0) & (qty < 6))
        .limit(3)
    )
    run = convert(lambda table, query: query.optimise().run(table))
    rng = np.random.RandomState(8)
    for n, query in (
        (6, q),
        (9, q),
        (5, Query().sort("qty").limit(2)),
        (4, Query().filter(price > 50.0)),
        (6, q.filter(Col("total") > 8.0)),
    ):
        table = {"price": T(rng.rand(n).astype("float32") * 5), "qty": T(rng.randint(1, 8, n))}
        yield attempt(lambda: run(table, query)), query.optimise().explain()
    yield attempt(lambda: q.groupby("x"))


@program
def validators_by_type_hints(convert):
    """A decorator that reads annotations: shapes in Annotated, ranges, dispatch on types, generic results, memo with weak keys."""

    V = TypeVar("V")

    class Shape:
        def __init__(self, spec):
            self.dims = spec.split()

        def check(self, name, x, env):
            if x.ndim != len(self.dims):
                raise TypeError(f"{name}: {x.ndim} axes, not {len(self.dims)}")
            for dim, size in zip(self.dims, x.shape):
                if dim.isdigit() and int(dim) != size or env.setdefault(dim, size) != size:
                    raise TypeError(f"{name}: {dim} is {size}")

    class Finite:
        def check(self, name, x, env):
            bad = (~paddle.isfinite(x)).sum()
            if bad > 0:
                raise ValueError(f"{name}: {bad.item()} not finite")

    class Simplex:
        def __init__(self, tol=1e-4):
            self.tol = tol

        def check(self, name, x, env):
            if (x < 0).any() or ((x.sum(-1) - 1).abs() > self.tol).any():
                raise ValueError(f"{name} is no distribution")

    def checked(fn):
        hints = typing.get_type_hints(fn, localns=locals_, include_extras=True)
        sig = inspect.signature(fn)

        @wraps(fn)
        def wrapper(*args, **kwargs):
            bound = sig.bind(*args, **kwargs)
            bound.apply_defaults()
            env = {}
            for name, value in bound.arguments.items():
                for rule in getattr(hints.get(name), "__metadata__", ()):
                    rule.check(name, value, env)
            return fn(*bound.args, **bound.kwargs)

        return wrapper

    locals_ = dict(Shape=Shape, Finite=Finite, Simplex=Simplex)
    A = typing.Annotated

    @dataclass
    class Ok(Generic[V]):
        value: V

        def map(self, fn):
            return Ok(fn(self.value))

    @dataclass
    class Err:
        error: str

        def map(self, fn):
            return self

    @singledispatch
    def summarise(x, depth=0):
        raise TypeError(f"cannot summarise {type(x).__name__}")

    @summarise.register
    def _(x: paddle.Tensor, depth=0):
        return x.mean() if x.ndim else x

    @summarise.register(list)
    @summarise.register(tuple)
    def _(x, depth=0):
        return sum((summarise(v, depth + 1) for v in x), paddle.zeros([])) / max(1, len(x))

    @summarise.register
    def _(x: dict, depth=0):
        return summarise(list(x.values()), depth)

    @summarise.register(int)
    @summarise.register(float)
    def _(x, depth=0):
        return T(float(x))

    @checked
    def mixture(
        weights: A[paddle.Tensor, Shape("n k"), Simplex()],
        values: A[paddle.Tensor, Shape("k d"), Finite()],
        power: float = 1.0,
    ) -> paddle.Tensor:
        return (weights**power) @ values

    def guarded(*args, **kw):
        try:
            return Ok(mixture(*args, **kw))
        except (TypeError, ValueError) as e:
            return Err(f"{type(e).__name__}: {e}")

    run = convert(guarded)
    w = paddle.nn.functional.softmax(T([[1.0, 2.0], [0.0, 0.5], [3.0, 1.0]]), -1)
    v = T([[1.0, 0.0, 2.0], [4.0, 1.0, 0.0]])
    yield run(w, v), run(w, values=v, power=2.0).map(lambda x: x.sum())
    yield run(w * 2, v), run(w, v / 0), run(w, v[0]), run(w, T([[1.0, 2.0]])), run(w[:2], v)
    total = convert(summarise)
    yield (
        total({"a": v, "b": [w, 3, (v[0], 2.5)]}),
        attempt(lambda: total({"a": {1, 2}})),
        total([]),
    )
    yield attempt(lambda: run(w)), run(w, v, power=0.0).map(summarise)


@program
def limits_shared_by_tenants(convert):
    """Requests with priorities in a heap, quotas by tenant in properties with setters, slots and ordering, a log of f-strings."""

    @total_ordering
    class Job:
        __slots__ = ("tenant", "cost", "priority", "seq", "retries")
        counter = itertools.count()

        def __init__(self, tenant, cost, priority=0):
            self.tenant, self.cost, self.priority = tenant, cost, priority
            self.seq, self.retries = next(Job.counter), 0

        def __eq__(self, other):
            return self.seq == other.seq

        def __lt__(self, other):
            if self.priority != other.priority:
                return self.priority > other.priority
            return self.seq < other.seq

    class Quota:
        def __init__(self, limit):
            self._limit, self._used = limit, paddle.zeros([])
            self.peaks = []

        @property
        def used(self):
            return self._used

        @used.setter
        def used(self, value):
            if value > self._limit:
                raise BufferError(f"{float(value):.1f} of {self._limit}")
            if not self.peaks or value > self.peaks[-1]:
                self.peaks.append(value)
            self._used = value

        @used.deleter
        def used(self):
            self._used = paddle.zeros([])

        @property
        def share(self):
            return self._used / self._limit

    class Scheduler:
        def __init__(self, **limits):
            self.quotas = {k: Quota(v) for k, v in limits.items()}
            self.heap, self.dead = [], []
            self.log = io.StringIO()

        def submit(self, *jobs):
            for j in jobs:
                heapq.heappush(self.heap, j)

        def tick(self, capacity, decay=0.5):
            served, spent = [], paddle.zeros([])
            waiting = []
            while self.heap and spent < capacity:
                job = heapq.heappop(self.heap)
                quota = self.quotas[job.tenant]
                try:
                    quota.used += job.cost
                except BufferError as e:
                    job.retries += 1
                    print(f"{job.tenant:>6}|{e!s:<14}|{job.retries:02d}", file=self.log)
                    (self.dead if job.retries > 2 else waiting).append(job)
                    continue
                spent = spent + job.cost
                served.append(job.tenant)
            self.submit(*waiting)
            for name, q in self.quotas.items():
                if q.share > 0.9:
                    print(f"{name} is at {q.share.item():.0%}", file=self.log)
                q._used = q.used * decay
            return served, spent, Counter(served).most_common(1)

    sched = Scheduler(red=5.0, blue=3.0)
    tick = convert(sched.tick)
    for costs, capacity in (
        ([2.0, 2.5, 1.0], 10.0),
        ([4.0, 1.0], 3.0),
        ([2.9, 6.0], 8.0),
        ([], 5.0),
        ([0.5], 5.0),
    ):
        for i, c in enumerate(costs):
            sched.submit(Job("red" if i % 2 else "blue", T(c), priority=i % 3))
        yield attempt(lambda: tick(T(capacity))), len(sched.heap), len(sched.dead)
        yield (
            {k: (q.used, q.share, list(q.peaks)) for k, q in sched.quotas.items()},
            sched.log.getvalue(),
        )
    del sched.quotas["red"].used
    yield attempt(lambda: tick(T(1.0), decay=1.0)), sched.quotas["red"].used


@program
def fields_that_depend_on_fields(convert):
    """A reactive sheet: cells are descriptors, formulas find their inputs by tracking, changes invalidate, cycles are named."""

    class Cycle(RecursionError):
        pass

    class Cell:
        def __init__(self, default=None):
            self.default = default

        def __set_name__(self, owner, name):
            self.name = name
            owner.cells = (*getattr(owner, "cells", ()), name)

        def __get__(self, obj, owner=None):
            if obj is None:
                return self
            obj.track(self.name)
            return obj.values.get(self.name, self.default)

        def __set__(self, obj, value):
            obj.values[self.name] = value
            obj.invalidate(self.name)

    class Formula(Cell):
        def __init__(self, fn):
            super().__init__()
            self.fn = fn
            functools.update_wrapper(self, fn)

        def __get__(self, obj, owner=None):
            if obj is None:
                return self
            obj.track(self.name)
            if self.name in obj.running:
                raise Cycle(" -> ".join([*obj.running, self.name]))
            if self.name not in obj.values:
                obj.running.append(self.name)
                try:
                    obj.values[self.name] = self.fn(obj)
                    obj.computed[self.name] += 1
                finally:
                    obj.running.pop()
            return obj.values[self.name]

        def __set__(self, obj, value):
            raise AttributeError(f"{self.name} is a formula")

    class Sheet:
        def __init__(self, **values):
            self.values, self.running, self.computed = {}, [], Counter()
            self.dependents = defaultdict(set)
            for k, v in values.items():
                setattr(self, k, v)

        def track(self, name):
            if self.running and name != self.running[-1]:
                self.dependents[name].add(self.running[-1])

        def invalidate(self, name):
            for d in sorted(self.dependents.pop(name, ())):
                self.values.pop(d, None)
                self.invalidate(d)

    class Loan(Sheet):
        amount = Cell()
        rate = Cell(0.05)
        years = Cell(3)
        stressed = Cell(False)

        @Formula
        def effective(self):
            return self.rate * 1.5 if self.stressed else self.rate

        @Formula
        def payment(self):
            r = self.effective
            return self.amount * r / (1 - (1 + r) ** -self.years)

        @Formula
        def risk(self):
            p = self.payment
            if p.max() > 50:
                return (p > 50).astype("float32") * p.std()
            return paddle.zeros_like(p)

        @Formula
        def chicken(self):
            return self.egg

        @Formula
        def egg(self):
            return self.chicken

    def update(sheet, amount, **changes):
        sheet.amount = amount
        before = sheet.risk.sum()
        for k, v in changes.items():
            setattr(sheet, k, v)
        if before > sheet.risk.sum():
            sheet.stressed = not sheet.stressed
        return before, sheet.payment, sheet.risk

    run = convert(update)
    sheet = Loan(amount=T([100.0, 200.0]))
    yield (
        attempt(lambda: run(sheet, T([100.0, 150.0]), years=5)),
        dict(sheet.computed),
        sheet.stressed,
    )
    yield (
        attempt(lambda: run(sheet, T([100.0, 250.0, 70.0]), rate=T(0.01), years=9)),
        dict(sheet.computed),
        sheet.stressed,
    )
    yield attempt(lambda: run(sheet, T([10.0, 20.0]))), dict(sheet.computed)
    yield attempt(lambda: run(sheet, T([10.0]), payment=3)), attempt(lambda: sheet.egg), Loan.cells
    yield {k: sorted(v) for k, v in sheet.dependents.items()}
