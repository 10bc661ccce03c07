"""Objects that a function makes for itself are no state: each run has its own (F3, G2)."""

from __future__ import annotations

import dataclasses
import linecache
import types
from typing import Any

import paddle
import pytest

import d2s
from d2s.errors import UnsupportedInGraphError
from tests.helpers import assert_same, function_of, tensor

X = [(tensor(1.0, 2.0),), (tensor(-1.0, 0.5),), (tensor(3.0, 4.0),)]


class Total:
    """Counts and adds up."""

    def __init__(self, start: Any) -> None:
        self.sum = start
        self.count = 0
        self.reset()

    def reset(self) -> None:
        self.seen: list[Any] = []

    def add(self, value: Any) -> Any:
        self.sum = self.sum + value
        self.count += 1
        self.seen.append(value)
        return self.sum


@dataclasses.dataclass
class Pair:
    """Two values, the first of which moves."""

    left: Any
    right: Any
    moves: int = 0

    def move(self) -> None:
        self.left = self.left + self.right
        self.moves += 1


class Bare:
    """Gets its attributes from outside."""

    def double(self) -> None:
        self.value = self.value * 2
        self.times = self.times + 1


def with_init(x):
    total = Total(x)
    total.add(x * 2)
    if x.sum() > 0:
        total.add(x)
    return total.add(x), total.count, total.seen


def with_data_class(x):
    pair = Pair(x, x * 2)
    pair.move()
    pair.move()
    return pair.left, pair.moves


def without_init(x):
    bare = Bare()
    bare.value, bare.times = x, 1
    bare.double()
    bare.double()
    return bare.value, bare.times


def with_namespace(x):
    found = types.SimpleNamespace(h=x, n=0)
    for _ in range(3):
        found.h = found.h * 2
        found.n += 1
    return found.h, found.n


def in_a_list(x):
    totals = [Total(x), Total(x * 2)]
    for each in totals:
        each.add(x)
    return totals[0].sum + totals[1].sum, totals[1].count


@pytest.mark.parametrize(
    "function", [with_init, with_data_class, without_init, with_namespace, in_a_list]
)
def test_one_program_serves_all_calls(function: Any) -> None:
    """G2: what the last call's object held does not matter."""
    static = assert_same(function, *X)
    assert static.get_traced_count() == 1


def test_an_object_that_was_there_before_is_state() -> None:
    """F3: it keeps what the runs have made of it, and is looked at before each."""
    plain, static = Total(tensor(0.0, 0.0)), Total(tensor(0.0, 0.0))

    def of(total: Total) -> Any:
        return lambda x: total.add(x) * total.count

    functions = of(plain), d2s.to_static(of(static))
    for (x,) in [*X, *X]:
        want, got = (function(x) for function in functions)
        assert want.tolist() == got.tolist()
    assert static.count == plain.count == 6
    static.count = plain.count = 100
    want, got = (function(X[0][0]) for function in functions)
    assert want.tolist() == got.tolist()


def test_an_object_that_is_kept_is_state_from_then_on() -> None:
    """F3: made by one call, changed by the next."""

    def make() -> tuple[Any, dict[str, Any]]:
        kept: dict[str, Any] = {}

        def f(x):
            if "total" not in kept:
                kept["total"] = Total(x)
            return kept["total"].add(x)

        return f, kept

    (plain, one), (original, other) = make(), make()
    static = d2s.to_static(original)
    for (x,) in [*X, *X]:
        assert plain(x).tolist() == static(x).tolist()
    assert one["total"].count == other["total"].count == 6


class Part(paddle.nn.Layer):
    """A layer of the user's that another one, or a function, may make."""

    def __init__(self, factor: float = 2.0) -> None:
        self_factor = factor
        super().__init__()
        self.factor = self_factor
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        return x * self.factor


class Whole(paddle.nn.Layer):
    """A layer that keeps a tensor and another layer."""

    def __init__(self, x) -> None:
        super().__init__()
        self.shift = x * 2
        self.parts = paddle.nn.LayerList([Part(3.0)])

    def forward(self, x):
        return self.parts[0](x) + self.shift


def test_a_layer_that_the_function_makes() -> None:
    """A1: a new one in each run, with an ``__init__`` of its own and with what is changed in it."""

    def f(x):
        part, whole = Part(3.0), Whole(x)
        if x.sum() > 0:
            whole.shift = whole.shift + 1
        return part(x) + part(x), part.calls, whole(x), whole.parts[0].calls

    assert_same(f, tensor(1.0, 2.0), tensor(-1.0, 0.0))


@pytest.mark.parametrize(
    "made",
    [
        *("paddle.nn.Linear(2, 2)(x)", "paddle.nn.BatchNorm1D(2)(x)", "Owner()(x)"),
        'x * paddle.create_parameter([2], "float32")',
    ],
)
def test_a_parameter_that_the_function_makes(made: str) -> None:
    """E1: dygraph makes a new one on each call; refused at the line."""

    class Owner(paddle.nn.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.inner = paddle.nn.Linear(2, 2)

        def forward(self, x):
            return self.inner(x)

    function = function_of(f"def f(x):\n    y = x * 2\n    return y + {made}", "f", Owner=Owner)
    with pytest.raises(UnsupportedInGraphError, match="dygraph makes a new one") as caught:
        d2s.to_static(function)(tensor([1.0, 2.0], [3.0, 4.0]))
    assert caught.value.file is not None
    line = linecache.getline(caught.value.file, caught.value.line)
    assert ("paddle.nn.Linear(2, 2)" if "Owner" in made else made) in line
