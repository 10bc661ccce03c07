"""Schedules, callbacks, registries of components, and settings that are merged and validated."""

import functools
import math
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from enum import Enum
from typing import Any, ClassVar, Dict, Optional

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import attempt, program


@program
def components_from_a_registry_with_kwargs(convert):
    """Blocks by name with keyword settings from dicts; unknown settings are reported."""

    class Registry(dict):
        def register(self, name=None, **defaults):
            def wrap(factory):
                key = name or factory.__name__.lower()
                if key in self:
                    raise KeyError(f"{key} is registered twice")
                self[key] = functools.partial(factory, **defaults) if defaults else factory
                return factory

            return wrap

        def build(self, spec, **extra):
            spec = dict(spec)
            kind = spec.pop("type")
            if kind not in self:
                raise KeyError(f"unknown {kind!r}, one of {sorted(self)}")
            return self[kind](**spec, **extra)

    BLOCKS = Registry()

    @BLOCKS.register(rate=0.5)
    class Scale:
        def __init__(self, rate, bias=0.0):
            self.rate, self.bias = rate, bias

        def __call__(self, x, *, mask=None, **_):
            out = x * self.rate + self.bias
            return out if mask is None else paddle.where(mask, out, x)

    @BLOCKS.register("clamp")
    def clamp(limit=1.0, soft=False):
        def apply(x, *, temperature=1.0, **_):
            if soft:
                return limit * paddle.tanh(x / (limit * temperature))
            return paddle.clip(x, -limit, limit)

        return apply

    @BLOCKS.register()
    class Gate(nn.Layer):
        def __init__(self, size):
            super().__init__()
            self.weight = self.create_parameter(
                [size], default_initializer=nn.initializer.Constant(0.3)
            )

        def forward(self, x, **context):
            gate = F.sigmoid((x * self.weight).sum(axis=-1, keepdim=True))
            if context.get("hard") and gate.mean() > 0.5:
                return x * (gate > 0.5).astype(x.dtype)
            return x * gate

    @convert
    def run(blocks, x, **context):
        trace = {}
        for i, block in enumerate(blocks):
            x = block(x, **context)
            trace[f"{i}:{type(block).__name__}"] = x.abs().mean()
        return x, trace

    specs = [
        {"type": "scale", "bias": 0.1},
        {"type": "clamp", "limit": 0.8},
        {"type": "gate", "size": 3},
    ]
    blocks = [BLOCKS.build(s) for s in specs]
    x = paddle.to_tensor([[1.0, -2.0, 3.0], [0.2, 0.4, -0.1]], stop_gradient=False)
    yield run(blocks, x)
    yield run(blocks, x, hard=True)
    yield run(blocks, x, mask=x > 0, temperature=2.0)
    yield run([BLOCKS.build({"type": "clamp"}, soft=True)], x, temperature=0.5)
    yield attempt(lambda: BLOCKS.build({"type": "gates"}))
    out, _ = run(blocks, x)
    out.sum().backward()
    yield x.grad, blocks[2].weight.grad


@program
def schedules_that_compose(convert):
    """Warm-up, cosine and plateau as objects that combine by operators, and step on a metric."""

    class Schedule:
        def __add__(self, other):
            return Sum(self, other)

        def __mul__(self, factor):
            return Scaled(self, factor)

        __rmul__ = __mul__

        def then(self, other, at):
            return Chained(self, other, at)

    class Const(Schedule):
        def __init__(self, value):
            self.value = value

        def __call__(self, step):
            return self.value

    class Warmup(Schedule):
        def __init__(self, peak, steps):
            self.peak, self.steps = peak, steps

        def __call__(self, step):
            if step < self.steps:
                return self.peak * (step + 1) / self.steps
            return self.peak

    class Cosine(Schedule):
        def __init__(self, peak, period, floor=0.0):
            self.peak, self.period, self.floor = peak, period, floor

        def __call__(self, step):
            inside = step % self.period
            cosine = paddle.cos(paddle.to_tensor(math.pi) * inside / self.period)
            return self.floor + (self.peak - self.floor) * 0.5 * (1 + cosine)

    class Sum(Schedule):
        def __init__(self, *parts):
            self.parts = parts

        def __call__(self, step):
            return sum(part(step) for part in self.parts)

    class Scaled(Schedule):
        def __init__(self, inner, factor):
            self.inner, self.factor = inner, factor

        def __call__(self, step):
            return self.inner(step) * self.factor

    class Chained(Schedule):
        def __init__(self, first, second, at):
            self.first, self.second, self.at = first, second, at

        def __call__(self, step):
            return self.first(step) if step < self.at else self.second(step - self.at)

    class Plateau:
        def __init__(self, factor=0.5, patience=1, threshold=1e-2):
            self.factor, self.patience, self.threshold = factor, patience, threshold
            self.best = paddle.to_tensor(math.inf)
            self.bad = 0
            self.scale = 1.0

        def observe(self, metric):
            if metric < self.best * (1 - self.threshold):
                self.best = metric
                self.bad = 0
            else:
                self.bad += 1
                if self.bad > self.patience:
                    self.scale = self.scale * self.factor
                    self.bad = 0
            return self.scale

    schedule = Warmup(0.4, 3).then(0.5 * Cosine(0.8, 4, floor=0.1) + Const(0.01), at=3)
    plateau = Plateau()

    @convert
    def rate(step, metric):
        return schedule(step) * plateau.observe(metric)

    losses = [1.0, 0.8, 0.799, 0.798, 0.797, 0.5, 0.51, 0.52, 0.53]
    for step, loss in enumerate(losses):
        yield rate(paddle.to_tensor(step), paddle.to_tensor(loss)), plateau.bad, plateau.scale
    yield plateau.best


@program
def settings_with_overrides_and_validation(convert):
    """Nested dataclasses from dotted overrides; a step that reads them and a frozen copy."""

    class Reduction(str, Enum):
        MEAN = "mean"
        SUM = "sum"
        NONE = "none"

    @dataclass
    class Optim:
        lr: float = 0.1
        momentum: float = 0.0
        clip: Optional[float] = None

    @dataclass
    class Settings:
        optim: Optim = field(default_factory=Optim)
        reduction: Reduction = Reduction.MEAN
        smoothing: float = 0.0
        tags: Dict[str, Any] = field(default_factory=dict)

        def override(self, dotted, value):
            head, _, rest = dotted.partition(".")
            if head not in {f.name for f in fields(self)}:
                raise AttributeError(f"no setting {dotted!r}")
            current = getattr(self, head)
            if rest:
                return replace(self, **{head: replace(current, **{rest: value})})
            if isinstance(current, Enum):
                value = type(current)(value)
            return replace(self, **{head: value})

    @dataclass
    class Run:
        settings: Settings
        w: paddle.Tensor
        velocity: Optional[paddle.Tensor] = None
        steps: int = 0
        clipped: int = 0

        @convert
        def step(self, x, y):
            cfg = self.settings
            w = self.w.detach()
            w.stop_gradient = False
            error = paddle.matmul(x, w) - y * (1 - cfg.smoothing)
            per_item = error.square().sum(axis=-1)
            match cfg.reduction:
                case Reduction.MEAN:
                    loss = per_item.mean()
                case Reduction.SUM:
                    loss = per_item.sum()
                case _:
                    loss = per_item.max()
            (g,) = paddle.grad(loss, [w])
            if cfg.optim.clip is not None:
                norm = g.norm()
                if norm > cfg.optim.clip:
                    g = g * (cfg.optim.clip / norm)
                    self.clipped += 1
            if cfg.optim.momentum:
                self.velocity = (
                    g if self.velocity is None else cfg.optim.momentum * self.velocity + g
                )
                g = self.velocity
            self.w = (w - cfg.optim.lr * g).detach()
            self.steps += 1
            return loss

    base = Settings()
    variants = [
        {},
        {"optim.lr": 0.02, "reduction": "sum"},
        {"optim.momentum": 0.9, "optim.clip": 0.5},
        {"reduction": "none", "smoothing": 0.1, "tags": {"name": "worst"}},
    ]
    rng = np.random.RandomState(9)
    x = paddle.to_tensor(rng.randn(4, 3).astype("float32"))
    y = paddle.to_tensor(rng.randn(4, 2).astype("float32"))
    for overrides in variants:
        cfg = functools.reduce(lambda c, item: c.override(*item), overrides.items(), base)
        run = Run(cfg, paddle.zeros([3, 2]))
        yield [run.step(x, y) for _ in range(3)], run.w, run.steps, run.clipped, run.velocity
    yield attempt(lambda: base.override("optimizer.lr", 1))
    yield asdict(base.optim), base == Settings()


@program
def callbacks_with_control(convert):
    """A loop with callbacks that log, stop early, keep the best weights and swap in averages."""

    class Callback:
        order: ClassVar[int] = 0

        def on_step(self, state):
            pass

        def on_epoch(self, state):
            pass

    class Log(Callback):
        def __init__(self, every):
            self.every = every
            self.lines = []

        def on_step(self, state):
            if state["step"] % self.every == 0:
                self.lines.append(f"{state['step']}: {float(state['loss']):.3f}")

    class Early(Callback):
        order = 2

        def __init__(self, patience):
            self.patience, self.bad, self.best = patience, 0, None

        def on_epoch(self, state):
            loss = state["epoch_loss"]
            if self.best is None or loss < self.best - 1e-4:
                self.best, self.bad = loss, 0
            else:
                self.bad += 1
            state["stop"] = self.bad >= self.patience

    class Average(Callback):
        order = 1

        def __init__(self, decay):
            self.decay, self.shadow = decay, {}

        def on_step(self, state):
            for name, w in state["weights"].items():
                old = self.shadow.get(name)
                self.shadow[name] = (
                    w.clone() if old is None else self.decay * old + (1 - self.decay) * w
                )

        @contextmanager
        def applied(self, state):
            kept = dict(state["weights"])
            state["weights"].update(self.shadow)
            try:
                yield state
            finally:
                state["weights"].update(kept)

    def predict(weights, x):
        return F.tanh(paddle.matmul(x, weights["a"])) @ weights["b"]

    class Fit:
        def __init__(self, callbacks):
            self.callbacks = sorted(callbacks, key=lambda c: c.order)
            self.state = {"step": 0, "stop": False, "weights": {}}

        def fire(self, event):
            for callback in self.callbacks:
                getattr(callback, f"on_{event}")(self.state)

        @convert
        def train_step(self, x, y, lr=0.2):
            weights = {k: v.detach() for k, v in self.state["weights"].items()}
            for v in weights.values():
                v.stop_gradient = False
            loss = (predict(weights, x) - y).square().mean()
            grads = paddle.grad(loss, list(weights.values()))
            for (name, w), g in zip(weights.items(), grads):
                self.state["weights"][name] = (w - lr * g).detach()
            self.state["loss"] = loss.detach()
            self.state["step"] += 1
            self.fire("step")
            return self.state["loss"]

        def run(self, batches, epochs):
            for epoch in range(epochs):
                total = paddle.zeros([])
                for x, y in batches:
                    total = total + self.train_step(x, y)
                self.state["epoch_loss"] = total / len(batches)
                self.fire("epoch")
                if self.state["stop"]:
                    return epoch + 1
            return epochs

    rng = np.random.RandomState(10)
    data = [
        (
            paddle.to_tensor(rng.randn(n, 3).astype("float32")),
            paddle.to_tensor(rng.randn(n, 1).astype("float32")),
        )
        for n in (4, 4, 3)
    ]
    log, early, average = Log(2), Early(1), Average(0.8)
    fit = Fit([early, log, average])
    fit.state["weights"] = {
        "a": paddle.to_tensor(rng.randn(3, 4).astype("float32") * 0.3),
        "b": paddle.to_tensor(rng.randn(4, 1).astype("float32") * 0.3),
    }
    yield fit.run(data, 2), fit.state["epoch_loss"], average.shadow
    with average.applied(fit.state) as state:
        yield predict(state["weights"], data[0][0])
    yield fit.run(data, 1), log.lines, early.bad, fit.state["weights"]
