"""Registries, checks, breakers, retries, properties and plugins."""

import enum
import functools
import logging
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field, replace
from typing import Callable, ClassVar, Dict, Tuple, Type

import paddle
from paddle import nn

from corpus.realistic import attempt, program

TRANSFORMS: Dict[str, Callable] = {}


def register(name=None):
    def decorate(fn):
        key = name or fn.__name__
        if key in TRANSFORMS:
            raise KeyError(f"{key} is registered twice")

        @functools.wraps(fn)
        def checked(x, **options):
            if not isinstance(x, paddle.Tensor):
                raise TypeError(f"{key} wants a tensor, not {type(x).__name__}")
            return fn(x, **options)

        TRANSFORMS[key] = checked
        return checked

    return decorate


@register()
def standardize(x, eps=1e-6):
    std = x.std()
    return (x - x.mean()) / std if std > eps else x - x.mean()


@register("clip")
def clip_outliers(x, sigmas=2.0):
    limit = sigmas * x.std()
    outside = int((x.abs() > limit).sum())
    if outside:
        print(f"clipped {outside} values")
    return paddle.clip(x, -limit, limit)


@register()
def power(x, p=2):
    return x.abs() ** p * x.sign()


def run_pipeline(x, config):
    applied = []
    for entry in config:
        options = dict(entry)
        name = options.pop("name")
        condition = options.pop("when", None)
        if condition is not None and not condition(x):
            continue
        try:
            transform = TRANSFORMS[name]
        except KeyError:
            raise ValueError(f"unknown transform {name!r}; known: {sorted(TRANSFORMS)}") from None
        x = transform(x, **options)
        applied.append(name)
    return x, applied


@program
def registry_pipeline(convert):
    """A registry of transforms by decorator, and a pipeline built from a config."""

    run = convert(run_pipeline)
    config = [
        {"name": "standardize"},
        {"name": "clip", "sigmas": 1.5, "when": lambda t: t.max() > 1.2},
        {"name": "power", "p": 3},
    ]
    yield run(paddle.to_tensor([1.0, 2.0, 3.0, 40.0]), config)
    yield run(paddle.to_tensor([5.0, 5.0, 5.0]), config)
    yield attempt(lambda: run(paddle.ones([2]), [{"name": "blur"}]))


class ConfigError(ValueError):
    pass


class InputError(ValueError):
    def __init__(self, reason, value):
        super().__init__(f"{reason}: {value:.3f}")
        self.value = value


@dataclass(frozen=True)
class NormConfig:
    bounds: Tuple[float, float] = (-5.0, 5.0)
    strict: bool = True
    order: int = 2
    tags: tuple = field(default_factory=tuple)

    def __post_init__(self):
        low, high = self.bounds
        if low >= high:
            raise ConfigError(f"empty bounds {self.bounds}")
        if self.order not in (1, 2):
            raise ConfigError("order must be 1 or 2")

    @property
    def width(self):
        return self.bounds[1] - self.bounds[0]

    def loosened(self, factor):
        return replace(
            self,
            bounds=(self.bounds[0] * factor, self.bounds[1] * factor),
            strict=False,
            tags=(*self.tags, "loosened"),
        )


class CheckedNorm(nn.Layer):
    def __init__(self, config: NormConfig):
        super().__init__()
        self.config = config
        self.rejections = 0

    def check(self, x, config):
        low, high = config.bounds
        worst = x.abs().max()
        if paddle.isnan(worst):
            raise InputError("not a number", float("nan"))
        if x.min() < low or x.max() > high:
            self.rejections += 1
            raise InputError(f"outside of {config.bounds}", worst.item())

    def forward(self, x):
        config = self.config
        try:
            self.check(x, config)
        except InputError as error:
            if config.strict:
                raise
            print("clamped:", error)
            x = x.clip(*config.bounds)
        norm = x.norm(p=config.order)
        return x / norm if norm > 0 else x


@program
def validated_config(convert):
    """A config dataclass that validates itself, and a layer that checks its input against it and raises its own errors."""

    layer = convert(CheckedNorm(NormConfig()))
    yield layer(paddle.to_tensor([1.0, -2.0]))
    yield attempt(lambda: layer(paddle.to_tensor([1.0, -20.0])))
    yield attempt(lambda: layer(paddle.to_tensor([float("nan"), 0.0]))), layer.rejections
    loose = convert(CheckedNorm(NormConfig(order=1).loosened(2)))
    yield loose(paddle.to_tensor([3.0, 44.0]))
    yield loose(paddle.zeros([2])), loose.config.width, loose.config.tags
    yield attempt(lambda: NormConfig(bounds=(1, 0)))


logger = logging.getLogger("breaker")


class State(enum.Enum):
    CLOSED = enum.auto()
    OPEN = enum.auto()
    HALF_OPEN = enum.auto()


class CircuitBreaker(nn.Layer):
    def __init__(self, inner, limit=10.0, max_failures=2, cooldown=2):
        super().__init__()
        self.inner = inner
        self.limit, self.max_failures, self.cooldown = limit, max_failures, cooldown
        self.state, self.failures, self.waited = State.CLOSED, 0, 0

    def fallback(self, x):
        return paddle.zeros_like(x)

    def transition(self, state):
        if state is not self.state:
            logger.info("%s -> %s", self.state.name, state.name)
            print(f"{self.state.name} -> {state.name}")
        self.state = state

    def forward(self, x):
        if self.state is State.OPEN:
            self.waited += 1
            if self.waited < self.cooldown:
                return self.fallback(x)
            self.transition(State.HALF_OPEN)
        y = self.inner(x)
        healthy = paddle.isfinite(y).all() and y.abs().max() <= self.limit
        if healthy:
            self.failures = 0
            self.transition(State.CLOSED)
            return y
        self.failures += 1
        if self.state is State.HALF_OPEN or self.failures >= self.max_failures:
            self.waited = 0
            self.transition(State.OPEN)
        return self.fallback(x)


@program
def circuit_breaker(convert):
    """An enum state machine: a circuit breaker around a model that trips on bad outputs and recovers."""

    paddle.seed(33)
    layer = convert(CircuitBreaker(nn.Linear(2, 2)))
    for value in (1.0, 1000.0, 1.0, 500.0, 700.0, 1.0, 900.0, 1.0, 1.0, 2.0):
        yield layer(paddle.full([1, 2], value)), layer.state.name, layer.failures, layer.waited


log = logging.getLogger(__name__)


class SolverError(RuntimeError):
    pass


def retry(times, exceptions=(SolverError,)):
    def decorate(fn):
        @functools.wraps(fn)
        def wrapper(*args, damping=0.0, **kwargs):
            last = None
            for k in range(times):
                try:
                    return fn(*args, damping=damping, **kwargs)
                except exceptions as error:
                    last = error
                    damping = max(2 * damping, 0.25)
                    log.warning("try %d failed: %s", k + 1, error)
                    print(f"try {k + 1} failed: {error}")
            raise SolverError(f"gave up after {times} tries") from last

        return wrapper

    return decorate


@retry(3)
def fixed_point(x, gain, damping=0.0, steps=8):
    for _ in range(steps):
        new = damping * x + (1 - damping) * gain * paddle.cos(x)
        if (new - x).abs().max() < 0.05:
            return new, damping
        x = new
    raise SolverError(
        f"residual {(gain * paddle.cos(x) - x).abs().max().item():.2f} with damping {damping}"
    )


def solve(x, gain, fallback=True):
    try:
        return fixed_point(x, gain)
    except SolverError as error:
        if not fallback:
            raise
        print("fallback:", error, "| cause:", error.__cause__)
        return paddle.zeros_like(x), None


@program
def retry_solver(convert):
    """Retries with a decorator: a solver that may fail is tried again with stronger damping, then a fallback is used."""

    run = convert(solve)
    yield run(paddle.to_tensor([0.5, 1.0]), 0.4)
    yield run(paddle.to_tensor([0.5, 1.0]), 1.2)
    yield run(paddle.to_tensor([0.5, 1.0]), 9.0)
    yield attempt(lambda: run(paddle.to_tensor([0.5]), 9.0, fallback=False))


class Gaussian:
    def __init__(self, mean, covariance):
        self._cache = {}
        self.factorizations = 0
        self.mean = mean
        self.covariance = covariance

    @property
    def covariance(self):
        return self._covariance

    @covariance.setter
    def covariance(self, value):
        if value.shape[0] != value.shape[1]:
            raise ValueError(f"not square: {list(value.shape)}")
        if not paddle.allclose(value, value.T):
            raise ValueError("not symmetric")
        self._covariance = value
        self._cache.clear()

    @property
    def factor(self):
        if "factor" not in self._cache:
            self.factorizations += 1
            self._cache["factor"] = paddle.linalg.cholesky(self._covariance)
        return self._cache["factor"]

    @property
    def logdet(self):
        return 2 * paddle.log(paddle.diagonal(self.factor)).sum()

    def log_prob(self, x):
        z = paddle.linalg.triangular_solve(
            self.factor, (x - self.mean).unsqueeze(-1), upper=False
        ).squeeze(-1)
        return -0.5 * (z.square().sum() + self.logdet + len(x) * math.log(2 * math.pi))

    def __eq__(self, other):
        return isinstance(other, Gaussian) and bool(
            (self.mean == other.mean).all() and (self.covariance == other.covariance).all()
        )


def score(gaussian, points, scale=None):
    if scale is not None:
        gaussian.covariance = gaussian.covariance * scale
    best, where = None, -1
    for i, x in enumerate(points):
        lp = gaussian.log_prob(x)
        if best is None or lp > best:
            best, where = lp, i
    return best, where, gaussian.factorizations


@program
def gaussian_properties(convert):
    """A Gaussian with properties: the covariance is set with a check, its Cholesky factor is cached and invalidated."""

    run = convert(score)
    g = Gaussian(paddle.zeros([2]), paddle.to_tensor([[2.0, 0.5], [0.5, 1.0]]))
    points = paddle.to_tensor([[1.0, 1.0], [0.1, 0.0], [0.0, 3.0]])
    yield run(g, points)
    yield run(g, points[::2] * 1.0, scale=2.0)
    yield run(g, points, scale=paddle.to_tensor(0.5)), g.factorizations
    yield attempt(lambda: run(g, points, scale=paddle.to_tensor([[1.0, 2.0], [3.0, 1.0]]))), g == g


class Plugin(ABC):
    registry: ClassVar[Dict[str, Type["Plugin"]]] = {}
    priority = 0

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        Plugin.registry[cls.__name__.lower()] = cls

    @abstractmethod
    def __call__(self, request, proceed): ...


class Scale(Plugin):
    priority = 2

    def __init__(self, factor=2.0):
        self.factor = factor

    def __call__(self, request, proceed):
        return proceed({**request, "x": request["x"] * self.factor})


class Guard(Plugin):
    priority = 5

    def __call__(self, request, proceed):
        if (request["x"] < 0).any():
            if request.get("strict"):
                raise PermissionError("negative input")
            return {"y": paddle.zeros_like(request["x"]), "source": "guard"}
        return proceed(request)


class Memo(Plugin):
    priority = 3

    def __init__(self):
        self.last = None

    def __call__(self, request, proceed):
        if self.last is not None and paddle.equal_all(self.last[0], request["x"]):
            return {**self.last[1], "source": "memo"}
        response = proceed(request)
        self.last = (request["x"], response)
        return response


def build(names, **options):
    return sorted(
        (Plugin.registry[n](**options.get(n, {})) for n in names), key=lambda p: -p.priority
    )


def serve(plugins, x, **extra):
    def call(i, request):
        if i == len(plugins):
            return {"y": request["x"].sqrt(), "source": "handler"}
        return plugins[i](request, lambda r: call(i + 1, r))

    response = call(0, {"x": x, **extra})
    return response["y"], response["source"]


@program
def plugin_middlewares(convert):
    """Plugins by __init_subclass__ with an abstract base, priorities, and a chain of middlewares around a handler."""

    run = convert(serve)
    plugins = build(["scale", "guard", "memo"], scale={"factor": 4.0})
    x = paddle.to_tensor([1.0, 4.0])
    yield run(plugins, x)
    yield run(plugins, x)
    yield run(plugins, -x)
    yield attempt(lambda: run(plugins, -x, strict=True))
    yield run(plugins, x + 1), run(build(["scale"]), x)
