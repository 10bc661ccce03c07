"""Which comprehensions become operators, and what becomes of their parts (rules A1, C6)."""

from __future__ import annotations

import pytest

import d2s
from conftest import show
from d2s.passes.expressions import comprehensions
from tests.helpers import assert_same, function_of, scalar, tensor


@pytest.mark.parametrize(
    "expression",
    [
        "[a for (a,) in pairs]",
        "[a for [a] in pairs]",
        "[a for *a, in pairs]",
        "[box[0] for box[0] in pairs]",
        "[(a, b) for a, *b in pairs]",
        "[(a, b) for a, (b,) in [(0, pair) for pair in pairs]]",
    ],
)
def test_a_target_is_unpacked_as_python_does(expression: str) -> None:
    """A1: one variable in brackets takes the one item, not the thing that holds it."""
    function = function_of(f"def f(pairs, box):\n    return {expression}, box")
    want = function([(1,), (2,)], [0])
    assert d2s.convert(function)([(1,), (2,)], [0]) == want


@pytest.mark.parametrize(
    "expression",
    [
        "[[(w := v + u) for u in us] for v in vs]",
        "[(w := v) for v in vs if [w := v + u for u in us]]",
        "[sum((w := v * u) for u in us) for v in vs]",
        "[lambda: v for v in vs][0](), w",
    ],
)
def test_a_walrus_inside_binds_in_the_function(expression: str) -> None:
    """A1: also two comprehensions down."""
    function = function_of(f"def f(vs, us, w=0):\n    r = {expression}\n    return r, w")
    assert d2s.convert(function)([1, 2], [3, 4]) == function([1, 2], [3, 4])


@pytest.mark.parametrize(
    "iterable",
    ["[1, x]", "(1, x)", "{1, x}", "{1: x}", "'ab'", "range(3)", "zip('a', [x])"],
)
def test_what_is_written_down_is_left_to_python(
    iterable: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """C6: a display, and a range of constants, have a length that no tensor decides."""
    text = f"def f(d, x):\n    return [v for v in {iterable}]"
    show(comprehensions.PASS, text)
    assert capsys.readouterr().out.strip() == text


@pytest.mark.parametrize("iterable", ["[*x]", "range(x)", "d.items()", "enumerate(x)"])
def test_what_a_tensor_may_be_in_is_not(iterable: str, capsys: pytest.CaptureFixture[str]) -> None:
    """C6: the operator finds out what is iterated over."""
    show(comprehensions.PASS, f"def f(d, x):\n    return [v for v in {iterable}]")
    assert f"d2s.list_({iterable}, lambda v: v)" in capsys.readouterr().out


def test_keywords_beside_a_generator_are_converted() -> None:
    """C6: ``start`` of ``sum`` has a condition on a tensor of its own."""

    def f(x, y):
        return sum((v for v in x if v > 0), start=sum([w * 2 for w in y if w > 0]))

    assert_same(f, (tensor(1.0, -2.0, 3.0), tensor(-1.0, 5.0)), (tensor(1.0), tensor(1.0)))


@pytest.mark.parametrize("consumer", ["sum", "any", "all", "min", "max", "len(list", "len(tuple"])
def test_a_consumer_takes_what_a_tensor_accepts(consumer: str) -> None:
    """C6: the number of items is known on the run only."""
    close = ")" * consumer.count("(")
    function = function_of(f"def f(x):\n    return {consumer}(v for v in x if v > 0){close}")
    assert_same(function, tensor(1.0, -2.0, 3.0), tensor(1.0, 2.0), grad=False)


def test_what_a_filter_binds_goes_from_trip_to_trip() -> None:
    """A1, C6: the filter adds the items up, and the code behind reads the sum."""

    def f(x, n):
        y = x
        out = [i for i in range(n) if (y := y + i).sum() > 4]
        return out, y

    assert_same(f, *((tensor(1.0, 2.0), scalar(n)) for n in (1, 3, 5)))
