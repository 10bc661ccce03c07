"""Code organisation: configs, hierarchies, registries, builders, hooks, plugins, pipelines."""

import abc
import enum
import functools
from collections import OrderedDict, namedtuple
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Callable, Dict, List, Optional, Union

import numpy as np
import paddle
import paddle.nn as nn
import paddle.nn.functional as F

from corpus.realistic import attempt, program


@program
def registry_built_from_nested_configs(convert):
    """Layers are registered by name and built from nested dictionaries with defaults."""

    class Registry:
        def __init__(self, name):
            self.name, self._items = name, {}

        def register(self, name=None):
            def wrap(cls):
                self._items[name or cls.__name__.lower()] = cls
                return cls

            return wrap

        def build(self, config, **defaults):
            config = {**defaults, **config}
            kind = config.pop("type")
            if kind not in self._items:
                raise KeyError(f"{self.name}: no {kind!r}, there are {sorted(self._items)}")
            return self._items[kind](**config)

    BLOCKS = Registry("blocks")
    NORMS = Registry("norms")
    NORMS.register("layer")(nn.LayerNorm)

    @NORMS.register("rms")
    class RMSNorm(nn.Layer):
        def __init__(self, normalized_shape, epsilon=1e-6):
            super().__init__()
            self.weight = self.create_parameter(
                [normalized_shape], default_initializer=nn.initializer.Constant(1.0)
            )
            self.epsilon = epsilon

        def forward(self, x):
            return x * paddle.rsqrt(x.square().mean(-1, keepdim=True) + self.epsilon) * self.weight

    @BLOCKS.register("mlp")
    class MLP(nn.Layer):
        def __init__(self, dim, ratio=2, act="gelu", norm=None):
            super().__init__()
            self.norm = NORMS.build(norm, normalized_shape=dim) if norm else None
            self.fc1, self.fc2 = nn.Linear(dim, dim * ratio), nn.Linear(dim * ratio, dim)
            self.act = getattr(F, act)

        def forward(self, x):
            h = x if self.norm is None else self.norm(x)
            return x + self.fc2(self.act(self.fc1(h)))

    @BLOCKS.register("gated")
    class Gated(nn.Layer):
        def __init__(self, dim, threshold=0.0):
            super().__init__()
            self.fc, self.threshold = nn.Linear(dim, dim), threshold

        def forward(self, x):
            g = self.fc(x)
            if g.mean() > self.threshold:
                return x * F.sigmoid(g)
            return x - g

    class Model(nn.Layer):
        def __init__(self, dim, blocks, shared=None):
            super().__init__()
            shared = shared or {}
            self.blocks = nn.LayerList([BLOCKS.build(b, dim=dim, **shared) for b in blocks])

        def forward(self, x, return_all=False):
            outputs = OrderedDict()
            for i, block in enumerate(self.blocks):
                x = block(x)
                outputs[f"{i}:{type(block).__name__}"] = x
            return outputs if return_all else x

    configs = [
        dict(dim=4, blocks=[dict(type="mlp"), dict(type="gated")]),
        dict(dim=4, blocks=[dict(type="mlp", act="relu", norm=dict(type="rms", epsilon=1e-3))]),
        dict(dim=3, blocks=[{"type": "gated"}] * 2, shared={"threshold": 0.2}),
    ]
    rng = np.random.RandomState(0)
    for config in configs:
        model = convert(Model(**config))
        for n in (2, 3):
            x = paddle.to_tensor(rng.randn(n, config["dim"]).astype("float32"))
            model(x).sum().backward()
            yield model(x, return_all=n == 3), [p.grad for p in model.parameters()][:2]
            model.clear_gradients()
    yield attempt(lambda: BLOCKS.build({"type": "conv"}, dim=4))


@program
def template_method_hierarchy(convert):
    """An abstract base with a template method, mixins and cooperative super() calls."""

    class Estimator(abc.ABC):
        def __init__(self, name=None):
            self.name = name or type(self).__name__
            self.log: List[str] = []

        @abc.abstractmethod
        def score(self, x): ...

        def before(self, x):
            return x

        def after(self, score):
            return score

        @convert
        def __call__(self, x):
            x = self.before(x)
            score = self.score(x)
            if score.max() > 10:
                score = score / score.max() * 10
            self.log.append(f"{self.name}:{x.shape[0]}")
            return self.after(score)

    class Standardise:
        def before(self, x):
            x = super().before(x)
            return (x - x.mean(axis=0)) / (x.std(axis=0) + 1e-6)

    class NonNegative:
        def after(self, score):
            score = super().after(score)
            if (score < 0).any():
                return score - score.min()
            return score

    class Linear(Estimator):
        def __init__(self, weights, **kwargs):
            super().__init__(**kwargs)
            self.weights = paddle.to_tensor(weights)

        def score(self, x):
            return paddle.matmul(x, self.weights)

    class Quadratic(Linear):
        def score(self, x):
            first = super().score(x)
            return first + 0.5 * first.square()

    class CarefulQuadratic(Standardise, NonNegative, Quadratic):
        @property
        def description(self):
            return " -> ".join(cls.__name__ for cls in type(self).__mro__[:4])

    rng = np.random.RandomState(1)
    models = [
        Linear([1.0, -2.0], name="plain"),
        Quadratic([3.0, 0.5]),
        CarefulQuadratic([2.0, -1.0]),
    ]
    for model in models:
        for n, scale in ((3, 1.0), (4, 5.0)):
            yield model(paddle.to_tensor(rng.randn(n, 2).astype("float32") * scale))
        yield model.log
    yield models[-1].description
    yield attempt(lambda: Estimator())


@program
def callbacks_around_a_fit_loop(convert):
    """A fit loop with early stopping, history, best weights and a scheduler as callbacks."""

    class Callback:
        trainer = None

        def on_train_begin(self): ...

        def on_epoch_end(self, epoch, logs): ...

        def on_batch_end(self, batch, logs): ...

    class History(Callback):
        def on_train_begin(self):
            self.epochs, self.batches = [], 0

        def on_batch_end(self, batch, logs):
            self.batches += 1

        def on_epoch_end(self, epoch, logs):
            self.epochs.append(dict(logs))

    class EarlyStopping(Callback):
        def __init__(self, patience=1, min_delta=0.0):
            self.patience, self.min_delta = patience, min_delta

        def on_train_begin(self):
            self.best, self.wait = None, 0

        def on_epoch_end(self, epoch, logs):
            if self.best is None or logs["loss"] < self.best - self.min_delta:
                self.best, self.wait = logs["loss"], 0
                return
            self.wait += 1
            if self.wait > self.patience:
                self.trainer.stop = True

    class BestWeights(Callback):
        def on_train_begin(self):
            self.loss = paddle.to_tensor(float("inf"))
            self.weights = None

        def on_epoch_end(self, epoch, logs):
            if logs["loss"] < self.loss:
                self.loss = logs["loss"]
                self.weights = [p.clone() for p in self.trainer.model.parameters()]

    class Trainer:
        def __init__(self, model, lr, callbacks=()):
            self.model, self.callbacks = model, list(callbacks)
            self.optimizer = paddle.optimizer.SGD(lr, parameters=model.parameters())
            self.stop = False
            for callback in self.callbacks:
                callback.trainer = self

        def notify(self, event, *args):
            for callback in self.callbacks:
                getattr(callback, f"on_{event}")(*args)

        @convert
        def train_batch(self, x, y):
            loss = F.mse_loss(self.model(x), y)
            loss.backward()
            self.optimizer.step()
            self.optimizer.clear_grad()
            return {"loss": loss.detach()}

        def fit(self, data, epochs):
            self.stop = False
            self.notify("train_begin")
            for epoch in range(epochs):
                total = []
                for i, (x, y) in enumerate(data):
                    logs = self.train_batch(x, y)
                    total.append(logs["loss"])
                    self.notify("batch_end", i, logs)
                self.epoch_end(epoch, total)
                if self.stop:
                    break
            return epoch + 1

        @convert
        def epoch_end(self, epoch, losses):
            self.notify("epoch_end", epoch, {"loss": paddle.stack(losses).mean()})

    rng = np.random.RandomState(2)
    data = []
    for n in (4, 4, 2):
        x = rng.randn(n, 3).astype("float32")
        data.append((paddle.to_tensor(x), paddle.to_tensor(x.sum(1, keepdims=True) * 2)))
    for lr in (0.05, 1.5):
        history, stopper, best = History(), EarlyStopping(patience=0), BestWeights()
        trainer = Trainer(nn.Linear(3, 1), lr=lr, callbacks=[history, stopper, best])
        yield trainer.fit(data, epochs=4)
        yield history.epochs, history.batches, stopper.best, stopper.wait
        yield best.loss, best.weights, trainer.stop


@program
def pipeline_of_dataclass_stages(convert):
    """Stages are dataclasses; a context is threaded through them, some stages are conditional."""

    class Mode(enum.Enum):
        FAST = "fast"
        EXACT = "exact"

    @dataclass
    class Context:
        data: paddle.Tensor
        mode: Mode = Mode.FAST
        notes: List[str] = field(default_factory=list)
        stats: Dict[str, paddle.Tensor] = field(default_factory=dict)

        def note(self, text):
            self.notes.append(text)
            return self

    @dataclass
    class Stage:
        name: str
        when: Optional[Callable[[Context], Any]] = None

        def run(self, ctx):
            raise NotImplementedError(self.name)

        def __call__(self, ctx):
            if self.when is not None and not self.when(ctx):
                return ctx
            return self.run(ctx.note(self.name))

    @dataclass
    class Scale(Stage):
        factor: float = 1.0

        def run(self, ctx):
            return replace(ctx, data=ctx.data * self.factor)

    @dataclass
    class Clip(Stage):
        low: float = -1.0
        high: float = 1.0

        def run(self, ctx):
            outside = ((ctx.data < self.low) | (ctx.data > self.high)).sum()
            ctx.stats[f"{self.name}.outside"] = outside
            if outside > 0:
                ctx.data = ctx.data.clip(self.low, self.high)
            return ctx

    @dataclass
    class Smooth(Stage):
        rounds: int = 2

        def run(self, ctx):
            rounds = self.rounds if ctx.mode is Mode.EXACT else 1
            for _ in range(rounds):
                left = paddle.concat(x=[ctx.data[:1], ctx.data[:-1]], axis=0)
                ctx.data = 0.5 * (ctx.data + left)
            return ctx

    stages = [
        Scale("scale", factor=2.0),
        Clip("clip", high=1.5),
        Smooth("smooth", when=lambda ctx: ctx.mode is Mode.EXACT or ctx.data.shape[0] > 3),
        Scale("half", when=lambda ctx: bool((ctx.data > 1.2).any()), factor=0.5),
    ]

    @convert
    def run(data, mode="fast", only=None):
        ctx = Context(data=data, mode=Mode(mode))
        for stage in stages:
            if only is not None and stage.name not in only:
                continue
            ctx = stage(ctx)
        return ctx

    rng = np.random.RandomState(3)
    for n, mode in ((3, "fast"), (3, "exact"), (5, "fast"), (5, "exact")):
        ctx = run(paddle.to_tensor(rng.randn(n).astype("float32")), mode=mode)
        yield ctx.data, ctx.notes, ctx.stats
    ctx = run(paddle.to_tensor([0.1, 0.2]), only={"clip"})
    yield ctx.data, ctx.stats, ctx.mode.value
    yield asdict(stages[1])
    yield attempt(lambda: run(paddle.ones([2]), mode="slow"))


@program
def forward_hooks_and_feature_taps(convert):
    """Activations are tapped by hooks, statistics are kept by layer name, hooks come off again."""

    class Tap:
        def __init__(self, model, kinds=(nn.Linear,)):
            self.features = OrderedDict()
            self.handles = []
            for name, layer in model.named_sublayers():
                if isinstance(layer, kinds):
                    hook = functools.partial(self.record, name)
                    self.handles.append(layer.register_forward_post_hook(hook))

        def record(self, name, layer, inputs, output):
            self.features[name] = output

        def remove(self):
            for handle in self.handles:
                handle.remove()
            self.handles.clear()

    @contextmanager
    def tapping(model):
        tap = Tap(model)
        try:
            yield tap
        finally:
            tap.remove()

    class Net(nn.Layer):
        def __init__(self):
            super().__init__()
            self.stem = nn.Linear(3, 4)
            self.body = nn.Sequential(nn.ReLU(), nn.Linear(4, 4), nn.Tanh())
            self.head = nn.Linear(4, 2)

        def forward(self, x):
            return self.head(self.body(self.stem(x)))

    net = Net()

    @convert
    def features(x, wanted=None):
        with tapping(net) as tap:
            y = net(x)
        found = tap.features
        if wanted is not None:
            found = {name: found[name] for name in wanted}
        return y, {name: value.mean() for name, value in found.items()}

    @convert
    def distillation(x, teacher_features, weight=0.5):
        y, mine = features(x)
        loss = y.square().mean()
        for name, target in teacher_features.items():
            gap = (mine[name] - target).abs()
            if gap > 0.01:
                loss = loss + weight * gap
        return loss

    rng = np.random.RandomState(4)
    teacher = {"stem": paddle.to_tensor(0.3), "head": paddle.to_tensor(-0.2)}
    for n in (2, 4):
        x = paddle.to_tensor(rng.randn(n, 3).astype("float32"))
        yield features(x)
        yield features(x, wanted=["head"])
        loss = distillation(x, teacher)
        loss.backward()
        yield loss, net.stem.weight.grad
        net.clear_gradients()
    doubled = net.head.register_forward_pre_hook(lambda layer, inputs: (inputs[0] * 2,))
    yield features(x)
    doubled.remove()
    yield features(x)


@program
def strategy_objects_with_operators(convert):
    """Small expression objects with operators, comparison and lazy evaluation on tensors."""
    Bounds = namedtuple("Bounds", "low high")

    class Expr:
        def __add__(self, other):
            return Op("+", self, wrap(other))

        def __mul__(self, other):
            return Op("*", self, wrap(other))

        __radd__, __rmul__ = __add__, __mul__

        def __neg__(self):
            return Op("*", self, Const(-1.0))

        def __gt__(self, other):
            return Op(">", self, wrap(other))

        def clamp(self, low, high):
            return Clamp(self, Bounds(low=low, high=high))

    class Const(Expr):
        def __init__(self, value):
            self.value = value

        def eval(self, env):
            return self.value

    class Var(Expr):
        def __init__(self, name):
            self.name = name

        def eval(self, env):
            if self.name not in env:
                raise NameError(f"{self.name} has no value")
            return env[self.name]

    class Op(Expr):
        def __init__(self, op, left, right):
            self.op, self.left, self.right = op, left, right

        def eval(self, env):
            a, b = self.left.eval(env), self.right.eval(env)
            if self.op == "+":
                return a + b
            elif self.op == "*":
                return a * b
            return a > b

    class Clamp(Expr):
        def __init__(self, inner, bounds):
            self.inner, self.bounds = inner, bounds

        def eval(self, env):
            value = self.inner.eval(env)
            low, high = self.bounds
            if value < low:
                return low * paddle.ones_like(value)
            if value > high:
                return high * paddle.ones_like(value)
            return value

    class If(Expr):
        def __init__(self, test, then, otherwise):
            self.test, self.then, self.otherwise = test, then, otherwise

        def eval(self, env):
            if self.test.eval(env):
                return self.then.eval(env)
            else:
                return self.otherwise.eval(env)

    def wrap(value: Union[Expr, float]) -> Expr:
        return value if isinstance(value, Expr) else Const(value)

    @convert
    def evaluate(expr, **env):
        return expr.eval(env)

    x, y = Var("x"), Var("y")
    rule = If(x > y, (x + 1) * 2, -y).clamp(-1.5, 5.0)
    for a, b in ((1.0, 0.0), (0.0, 1.0), (4.0, 3.0), (-3.0, 2.5)):
        yield evaluate(rule, x=paddle.to_tensor(a), y=paddle.to_tensor(b))
        yield evaluate(rule + x * 0.5, y=paddle.to_tensor(b), x=paddle.to_tensor(a))
    yield evaluate(2 * x + 3, x=paddle.to_tensor([1.0, 2.0]))
    yield attempt(lambda: evaluate(rule, x=paddle.to_tensor(1.0)))
