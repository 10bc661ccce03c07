"""Who calls whom: each kind of callable as the entry, and as what it calls (rules E2, G1).

One table: kinds down, kinds across.  ``CALLEES`` makes a function of a tensor of each kind;
``ENTRIES`` makes one that calls such a function, of each kind, too, and converts it.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Callable
from typing import Any

import paddle
import pytest

import d2s
from tests.helpers import tensor

Function = Callable[[Any], Any]

X = tensor(1.0, -2.0, 3.0)


# -- what is called --------------------------------------------------------------------------------


def step(x):
    """A tensor decides."""
    if x.sum() > 0:
        return x * 2
    return x - 1


class Owner:
    """Methods of every kind; ``scale`` is state."""

    def __init__(self) -> None:
        self.scale = 3.0

    def method(self, x):
        return step(x) * self.scale

    @classmethod
    def of_class(cls, x):
        return step(x) + 1

    @staticmethod
    def static(x):
        return step(x) + 2

    def __call__(self, x):
        return step(x) * self.scale + 3

    @property
    def made(self):
        return lambda x: step(x) * self.scale + 4

    @d2s.to_static
    def converted(self, x):
        return step(x) * self.scale + 5

    @classmethod
    @d2s.to_static
    def converted_of_class(cls, x):
        return step(x) + 6

    @staticmethod
    @d2s.to_static
    def converted_static(x):
        return step(x) + 7


def doubling(method):
    """A decorator of methods."""

    @functools.wraps(method)
    def run(self, x, *arguments, **options):
        return method(self, x * 2, *arguments, **options)

    return run


class Heir(Owner):
    """Methods that reach others: of the base, of ``functools``, decorated, private."""

    def method(self, x):
        return super().method(x) + 8

    def by(self, factor, x, *, more=0.0):
        return step(x) * factor + more

    halved = functools.partialmethod(by, 0.5, more=9.0)

    @doubling
    def decorated(self, x, by=1.0):
        return step(x) * by + 10

    @functools.cached_property
    def kept(self):
        return lambda x: step(x) + 11

    def __hidden(self, x):
        return step(x) + 12

    def shown(self, x):
        return self.__hidden(x)

    @functools.singledispatchmethod
    def chosen(self, x):
        return step(x) + 13

    def __getattr__(self, name):
        if name == "made_up":
            return lambda x: step(x) + 14
        raise AttributeError(name)


@functools.singledispatch
def dispatched(x):
    return step(x) + 15


def decorated_by(outer: Function) -> Callable[[Function], Function]:
    """A decorator that adds a keyword."""

    def decorate(function: Function) -> Any:
        @functools.wraps(function)
        def wrapper(x, *, more=1.0):
            return outer(function(x)) + more

        return wrapper

    return decorate


@decorated_by(lambda x: x * 2)
def decorated(x):
    return step(x)


@functools.cache
def cached(number):
    return number + 1


class Plain(paddle.nn.Layer):
    """A layer whose ``forward`` a tensor decides."""

    def __init__(self) -> None:
        super().__init__()
        self.bias = self.create_parameter(
            [3], default_initializer=paddle.nn.initializer.Constant(0.5)
        )

    def forward(self, x):
        if x.sum() > 0:
            return x + self.bias
        return x - self.bias


class Holding(paddle.nn.Layer):
    """A layer with a sublayer."""

    def __init__(self, inner: paddle.nn.Layer) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, x):
        return self.inner(x) * 2


def hooked() -> Plain:
    """A layer with a hook before and one behind."""

    def before(layer, inputs):
        (x,) = inputs
        return (x * 3 if x.sum() > 0 else x * 4,)

    def behind(layer, inputs, result):
        return result + 1 if result.sum() > 0 else result - 1

    layer = Plain()
    layer.register_forward_pre_hook(before)
    layer.register_forward_post_hook(behind)
    return layer


async def coroutine(x):
    await asyncio.sleep(0)
    if x.sum() > 0:
        return x * 2
    return x - 1


def awaiting(x):
    return asyncio.run(coroutine(x))


def generator(x):
    yield step(x)
    yield x


def summing(x):
    return sum(generator(x))


@d2s.not_to_static
def left_alone(x):
    return x * 2 + 1


def local_of() -> Function:
    def outer(x):
        def inner(y):
            nonlocal x
            x = step(y)
            return x

        return inner(x) + x

    return outer


def owned() -> Owner:
    return Owner()


OWNER = Owner()
SPEC = [paddle.static.InputSpec([None], "float32")]

CALLEES: dict[str, Callable[[], Function]] = {
    "function": lambda: step,
    "lambda": lambda: lambda x: step(x) + 0.5,
    "closure": lambda: (lambda by: lambda x: step(x) * by)(3.0),
    "partial": lambda: functools.partial(lambda by, x: step(x) * by, 3.0),
    "method": lambda: OWNER.method,
    "method of a fresh object": lambda: owned().method,
    "class method": lambda: Owner.of_class,
    "class method of an object": lambda: OWNER.of_class,
    "static method": lambda: OWNER.static,
    "callable object": Owner,
    "property": lambda: OWNER.made,
    "function of a class": lambda: lambda x: Owner.method(OWNER, x),
    "decorated": lambda: decorated,
    "keyword of a decorator": lambda: lambda x: decorated(x, more=3.0),
    "no_grad": lambda: paddle.no_grad()(step),
    "layer": Plain,
    "sublayer": lambda: Holding(Plain()),
    "sequence of layers": lambda: paddle.nn.Sequential(Plain(), paddle.nn.ReLU(), Plain()),
    "layer with hooks": hooked,
    "forward of a layer": lambda: Plain().forward,
    "converted function": lambda: d2s.to_static(step),
    "converted with a spec": lambda: d2s.to_static(step, input_spec=SPEC),
    "converted twice": lambda: d2s.to_static(d2s.to_static(step)),
    "converted method": lambda: OWNER.converted,
    "converted method of a fresh object": lambda: owned().converted,
    "converted class method": lambda: OWNER.converted_of_class,
    "converted static method": lambda: OWNER.converted_static,
    "converted method, later": lambda: d2s.to_static(owned().method),
    "converted layer": lambda: d2s.to_static(Plain()),
    "converted sublayer": lambda: Holding(d2s.to_static(Plain())),
    "wrapper of a converted function": lambda: functools.wraps(step)(
        (lambda made: lambda x, by=2.0: made(x) * by)(d2s.to_static(step))
    ),
    "converted by Paddle": lambda: paddle.jit.to_static(step, full_graph=True),
    "not to static": lambda: left_alone,
    "coroutine": lambda: awaiting,
    "generator": lambda: summing,
    "Paddle's": lambda: paddle.nn.functional.relu,
    "layer of Paddle": lambda: paddle.nn.ReLU(),
    "cached": lambda: lambda x: x * cached(2),
    "method through super": lambda: Heir().method,
    "partial method": lambda: Heir().halved,
    "decorated method": lambda: Heir().decorated,
    "decorated method by keyword": lambda: functools.partial(Heir().decorated, by=2.0),
    "cached property": lambda: Heir().kept,
    "private method": lambda: Heir().shown,
    "method by type": lambda: Heir().chosen,
    "function by type": lambda: dispatched,
    "attribute that is made up": lambda: Heir().made_up,
    "reduce": lambda: lambda x: functools.reduce(lambda a, b: step(a) + b, [x, x]),
    "local function": local_of,
}


# -- who calls -------------------------------------------------------------------------------------


def body(callee: Function, x: Any) -> Any:
    """What each caller does."""
    y = callee(x)
    if y.sum() > 1:
        y = callee(y * 0.5) + y
    return y


class Caller:
    """Calls ``callee`` from methods of every kind."""

    callee: Function

    def __init__(self, callee: Function) -> None:
        self.callee = callee

    def method(self, x):
        return body(self.callee, x)

    def __call__(self, x):
        return body(self.callee, x) + 1

    @property
    def result(self):
        return lambda x: body(self.callee, x) * 2

    @doubling
    def decorated(self, x):
        return body(self.callee, x)

    @d2s.to_static
    def converted(self, x):
        return self.inner(x) + 1

    @d2s.to_static
    def inner(self, x):
        return body(self.callee, x)


def of_class(callee: Function, *, static: bool) -> Any:
    class Kind:
        @classmethod
        def method(cls, x):
            return body(callee, x)

        @staticmethod
        def plain(x):
            return body(callee, x)

    return Kind.plain if static else Kind.method


class CallingLayer(paddle.nn.Layer):
    """A layer that calls."""

    def __init__(self, callee: Function) -> None:
        super().__init__()
        self.callee = callee

    def forward(self, x):
        return body(self.callee, x)


def function_of(callee: Function) -> Function:
    def call(x):
        return body(callee, x)

    return call


def generated(callee: Function, x: Any) -> Any:
    yield x
    yield body(callee, x)


def with_hook(callee: Function) -> paddle.nn.Layer:
    layer = paddle.nn.ReLU()
    layer.register_forward_post_hook(lambda _, inputs, result: body(callee, result))
    return layer


def coroutine_of(callee: Function) -> Any:
    async def run(x):
        await asyncio.sleep(0)
        return body(callee, x)

    return run


ENTRIES: dict[str, Callable[[Function], Any]] = {
    "function": function_of,
    "lambda": lambda callee: lambda x: body(callee, x),
    "converted": lambda callee: d2s.to_static(function_of(callee)),
    "converted layer": lambda callee: d2s.to_static(CallingLayer(callee)),
    "decorated method": lambda callee: Caller(callee).decorated,
    "generator": lambda callee: lambda x: list(generated(callee, x))[-1],
    "partial": lambda callee: functools.partial(body, callee),
    "method": lambda callee: Caller(callee).method,
    "class method": lambda callee: of_class(callee, static=False),
    "static method": lambda callee: of_class(callee, static=True),
    "callable object": Caller,
    "property": lambda callee: Caller(callee).result,
    "decorated": lambda callee: decorated_by(lambda x: x * 3)(lambda x: body(callee, x)),
    "layer": CallingLayer,
    "sublayer": lambda callee: Holding(CallingLayer(callee)),
    "hook": with_hook,
    "coroutine": coroutine_of,
    "spec": lambda callee: d2s.to_static(lambda x: body(callee, x), input_spec=SPEC),
    "converted method": lambda callee: Caller(callee).converted,
}


def called(entry: Any, x: Any) -> Any:
    """What the call gives, in the end; and whether it has a gradient."""
    result = entry(x)
    return asyncio.run(result) if inspect.iscoroutine(result) else result


def outcome(entry: Any, sign: float) -> list[Any]:
    x = X * sign
    x.stop_gradient = False
    result = called(entry, x)
    result.sum().backward()
    return [result.tolist(), None if x.grad is None else x.grad.tolist()]


def dygraph(make: Callable[[], Any], sign: float) -> list[Any]:
    paddle.jit.enable_to_static(False)
    try:
        return outcome(make(), sign)
    finally:
        paddle.jit.enable_to_static(True)


@pytest.mark.sampled(
    12,
    also=[
        "decorated method-method through super",
        "decorated method-decorated method by keyword",
        "decorated method-function of a class",
        "method-converted method",
        "method-method by type",
        "callable object-Paddle's",
        "callable object-function of a class",
        "decorated-partial",
        "decorated method-method of a fresh object",
        "converted layer-decorated",
        "converted-private method",
        "sublayer-decorated method",
        "partial-layer of Paddle",
        "callable object-not to static",
        "partial-decorated",
        "callable object-method of a fresh object",
        "callable object-method by type",
        "partial-converted with a spec",
        "function-coroutine",
        "class method-generator",
    ],
)
@pytest.mark.parametrize("callee", CALLEES)
@pytest.mark.parametrize("entry", ENTRIES)
def test_each_calls_each(entry: str, callee: str) -> None:
    """E2, G1: value and gradient are those of dygraph, for each kind of either."""
    if (entry, callee) == ("coroutine", "coroutine"):
        callee = "function"  # asyncio.run refuses to be nested, in dygraph, too

    def make() -> Any:
        return ENTRIES[entry](CALLEES[callee]())

    static = d2s.to_static(make())
    for sign in (1.0, -1.0, 1.0):
        want = dygraph(make, sign)
        got = outcome(static, sign)
        if got[1] is None or want[1] is None:  # a program cannot tell a zero gradient from none
            got[1] = want[1] = None
        assert got == want


@pytest.mark.sampled(5)
@pytest.mark.parametrize("callee", [kind for kind in CALLEES if kind != "coroutine"])
def test_a_coroutine_that_awaits(callee: str) -> None:
    """A6: coroutines become part of the program of the one that awaits them."""
    function = CALLEES[callee]()

    async def first(x):
        return function(x)

    async def both(x):
        one, two = await asyncio.gather(first(x), first(x + 1))
        return one + two + await first(x)

    x = X + 0
    assert asyncio.run(d2s.to_static(both)(x)).tolist() == asyncio.run(both(x)).tolist()
