"""Stages, handlers, caches, plugins and logs, as applications around tensors have them."""

import abc
import logging
from collections import Counter, OrderedDict, defaultdict
from functools import cached_property, lru_cache, singledispatch
from types import SimpleNamespace

import numpy as np
import paddle
import paddle.nn as nn

from corpus.realistic import attempt, program

T = paddle.to_tensor


@program
def stages_joined_by_a_bar(convert):
    """A pipeline with `|`, stages that may stop it, hooks around each, timing kept out of the values."""

    class Stop(Exception):
        def __init__(self, value):
            self.value = value

    class Stage:
        def __init__(self, fn, name=None):
            self.fn, self.name = fn, name or getattr(fn, "__name__", "stage")

        def __or__(self, other):
            return Pipeline([self]) | other

        def __call__(self, x):
            return self.fn(x)

    class Pipeline:
        def __init__(self, stages):
            self.stages, self.hooks, self.calls = stages, [], Counter()

        def __or__(self, other):
            return Pipeline(self.stages + [other if isinstance(other, Stage) else Stage(other)])

        def run(self, x):
            try:
                for stage in self.stages:
                    x = stage(x)
                    self.calls[stage.name] += 1
                    for hook in self.hooks:
                        hook(stage.name, x)
            except Stop as s:
                self.calls["stopped"] += 1
                return s.value, False
            else:
                return x, True
            finally:
                self.calls["runs"] += 1

    def centre(x):
        return x - x.mean()

    def guard(x):
        if (x.abs() > 100).any():
            raise Stop(paddle.zeros_like(x))
        return x

    def refine(x):
        while x.norm() > 3:
            x = x * 0.5
        return x

    pipe = Stage(centre) | guard | refine | Stage(lambda x: x + 1, name="shift")
    seen = []
    pipe.hooks.append(lambda name, x: seen.append((name, x.sum())))
    run = convert(pipe.run)
    for v in ([1.0, 2, 3], [1.0, 20, 30], [1.0, 2000, 3]):
        seen.clear()
        yield attempt(lambda: run(T(v))), dict(pipe.calls), list(seen)


@program
def handlers_that_hear_once(convert):
    """Publish and subscribe: handlers with priorities, once-handlers, cancelling, a log."""

    class Event(SimpleNamespace):
        cancelled = False

    class Bus:
        def __init__(self):
            self._handlers = defaultdict(list)

        def on(self, name, priority=0, once=False):
            def wrap(fn):
                self._handlers[name].append((priority, once, fn))
                self._handlers[name].sort(key=lambda h: -h[0])
                return fn

            return wrap

        def emit(self, name, **payload):
            event = Event(name=name, **payload)
            for entry in list(self._handlers[name]):
                _, once, fn = entry
                fn(event)
                if once:
                    self._handlers[name].remove(entry)
                if event.cancelled:
                    break
            return event

    bus, log = Bus(), []
    w = paddle.create_parameter([2], "float32", default_initializer=nn.initializer.Constant(1.0))

    @bus.on("loss", priority=10)
    def check(event):
        if event.loss > 20:
            event.cancelled = True
            log.append(("cancelled", event.step))

    @bus.on("loss")
    def record(event):
        log.append((event.step, event.loss.detach()))

    @bus.on("loss", once=True)
    def greet(event):
        print("first loss seen at step", event.step)

    @bus.on("grad")
    def clip(event):
        n = event.grad.norm()
        if n > 1.0:
            event.grad = event.grad / n

    @convert
    def train(xs):
        for step, x in enumerate(xs):
            loss = ((w * x).sum() - 2.0) ** 2
            if bus.emit("loss", step=step, loss=loss).cancelled:
                continue
            (g,) = paddle.grad(loss, [w])
            ev = bus.emit("grad", grad=g)
            with paddle.no_grad():
                w.set_value(w - 0.1 * ev.grad)
        return w + 0

    for rows in ([[1, 1], [2, 0]], [[5, 5], [0.1, 0.2]], [[1, -1]]):
        yield (
            attempt(lambda: train([T(r, dtype="float32") for r in rows])),
            list(log),
            len(bus._handlers["loss"]),
        )


@program
def rotary_tables_in_an_lru(convert):
    """lru_cache, cached_property, a memo keyed by shapes, a weak cache, an LRU of tensors with hit counts."""

    @lru_cache(maxsize=None)
    def frequencies(dim, base=100.0):
        return 1.0 / base ** (np.arange(0, dim, 2) / dim)

    class LRU(OrderedDict):
        def __init__(self, size):
            super().__init__()
            self.size, self.hits, self.misses = size, 0, 0

        def lookup(self, key, make):
            if key in self:
                self.hits += 1
                self.move_to_end(key)
                return self[key]
            self.misses += 1
            value = self[key] = make()
            if len(self) > self.size:
                self.popitem(last=False)
            return value

    class Rotary:
        def __init__(self, dim):
            self.dim = dim
            self.tables = LRU(2)

        @cached_property
        def inv(self):
            return T(frequencies(self.dim).astype("float32"))

        def table(self, n):
            def make():
                angles = paddle.outer(paddle.arange(n, dtype="float32"), self.inv)
                return paddle.cos(angles), paddle.sin(angles)

            return self.tables.lookup(n, make)

        def __call__(self, x):
            c, s = self.table(x.shape[-2])
            a, b = x[..., ::2], x[..., 1::2]
            return paddle.stack([a * c - b * s, a * s + b * c], axis=-1).flatten(start_axis=-2)

    rope = Rotary(4)

    @convert
    def encode(x, repeat=1):
        out = x
        for _ in range(repeat):
            out = rope(out)
            if (out - x).abs().mean() > 0.4:
                out = 0.5 * (out + x)
        return out

    rng = np.random.RandomState(1)
    for n, k in ((2, 1), (3, 2), (2, 1), (5, 1), (3, 1)):
        x = T(rng.randn(1, n, 4).astype("float32"))
        yield (
            attempt(lambda: encode(x, repeat=k)),
            (rope.tables.hits, rope.tables.misses),
            list(rope.tables),
            frequencies.cache_info().currsize,
        )


@program
def transforms_that_register_themselves(convert):
    """Abstract transforms collected by __init_subclass__, super() chains, a mixin that counts, singledispatch."""

    class Transform(abc.ABC):
        plugins = {}
        order = 0

        def __init_subclass__(cls, key=None, **kw):
            super().__init_subclass__(**kw)
            if key:
                Transform.plugins[key] = cls

        @abc.abstractmethod
        def apply(self, x): ...

        def __call__(self, x):
            return self.apply(x)

    class Counting:
        count = 0

        def __call__(self, x):
            type(self).count += 1
            return super().__call__(x)

    class Clip(Counting, Transform, key="clip"):
        order = 2

        def __init__(self, limit=1.0):
            self.limit = limit

        def apply(self, x):
            return x.clip(-self.limit, self.limit)

    class Whiten(Transform, key="whiten"):
        order = 1

        def apply(self, x):
            s = x.std()
            if s > 1e-3:
                return (x - x.mean()) / s
            return x - x.mean()

    class SafeWhiten(Whiten, key="safe"):
        def apply(self, x):
            if not bool(paddle.isfinite(x).all()):
                x = paddle.nan_to_num(x, nan=0.0, posinf=1.0, neginf=-1.0)
            return super().apply(x)

    class Partial(Transform, key="partial"):
        pass

    @singledispatch
    def summarise(v):
        raise NotImplementedError(type(v).__name__)

    @summarise.register(list)
    def _(v):
        return [summarise(i) for i in v]

    @summarise.register(paddle.Tensor)
    def _(v):
        return v.mean() if v.ndim else v

    @summarise.register
    def _(v: str):
        return v.upper()

    @convert
    def run(x, keys, **options):
        steps = sorted((Transform.plugins[k] for k in keys), key=lambda c: c.order)
        used = []
        for cls in steps:
            x = cls(**options.get(cls.__name__, {}))(x)
            used.append(cls.__name__)
        return x, summarise([x, used[0] if used else x, [x.max()]])

    for v, keys, opts in (
        ([1.0, 2, 6], ["clip", "whiten"], {}),
        ([2.0, 2, 2], ["whiten"], {}),
        ([1.0, float("nan"), 3], ["safe", "clip"], {"Clip": {"limit": 0.5}}),
        ([1.0, 2, 3], ["partial"], {}),
        ([1.0, 2, 3], [], {}),
    ):
        yield attempt(lambda: run(T(v), keys, **opts)), Clip.count


@program
def roots_with_retries_and_a_log(convert):
    """Logging with a handler, retries, exceptions chained and translated, warnings, finally, error records."""
    records = []

    class Keep(logging.Handler):
        def emit(self, record):
            records.append((record.levelname, record.getMessage()))

    logger = logging.getLogger("solver_of_mine")
    logger.handlers, logger.propagate = [Keep()], False
    logger.setLevel(logging.DEBUG)

    class SolverError(Exception):
        """The base of all."""

    class Singular(SolverError):
        pass

    class Diverged(SolverError):
        def __init__(self, value, step):
            super().__init__(f"diverged at step {step}")
            self.value, self.step = value, step

    def newton(x, target, max_steps=6):
        for step in range(max_steps):
            slope = 3 * x**2
            if slope.abs() < 1e-3:
                raise Singular("zero slope")
            x = x - (x**3 - target) / slope
            if x.abs() > 100:
                raise Diverged(x, step)
            if (x**3 - target).abs() < 1e-3:
                logger.debug("converged in %d", step + 1)
                return x
        logger.warning("no convergence, x=%.3f", float(x))
        return x

    @convert
    def solve(start, target, retries=2, strict=False):
        x, failures = start, 0
        for attempt_no in range(retries + 1):
            try:
                root = newton(x, target)
            except Singular as e:
                failures += 1
                logger.error("attempt %d: %s", attempt_no, e)
                x = x + 1.0
            except Diverged as e:
                if strict:
                    raise RuntimeError("gave up") from e
                logger.info(f"restart after {e.step}")
                x = e.value / 1e4 + 0.5
            else:
                break
            finally:
                logger.debug("attempt %s done", attempt_no)
        else:
            return None, failures
        return root, failures

    for s, t, kw in (
        (1.0, 8.0, {}),
        (0.0, 8.0, {}),
        (0.05, 1.0, {}),
        (0.05, 1.0, {"strict": True}),
        (0.0, 8.0, {"retries": 0}),
    ):
        records.clear()
        yield attempt(lambda: solve(T(s), T(t), **kw)), list(records)
