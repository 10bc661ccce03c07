"""Where ``is`` and ``in`` ask an operator (rules B4, B5)."""

from __future__ import annotations

import itertools

import pytest

import d2s
from tests.helpers import assert_same, function_of, tensor


@pytest.mark.parametrize(
    "inner",
    [
        "def missing(v):\n        return v is None",
        "def missing(v, /):\n        return v is None",
        "missing = lambda v: v is None",
    ],
)
def test_a_parameter_inside_may_be_one_of_several(inner: str) -> None:
    """B4: what is handed to it is a tensor on one path, and nothing on the other."""
    function = function_of(f"""
def f(x):
    {inner}
    y = None
    if x.sum() > 0:
        y = x
    if missing(y):
        return x - 1
    return x * 2
""")
    assert_same(function, tensor(1.0, 2.0), tensor(-1.0))


def test_what_a_pattern_captures_may_be_one_of_several() -> None:
    """B4, B7: the capture is the thing that a tensor has decided."""

    def f(x):
        y = None
        if x.sum() > 0:
            y = x
        match [y]:
            case [z]:
                if z is None:
                    return x - 1
        return x * 2

    assert_same(f, tensor(1.0, 2.0), tensor(-1.0))


@pytest.mark.parametrize("symbol", ["<", "<=", ">", ">=", "==", "!="])
@pytest.mark.parametrize("middle", ["b.sum()", "b[0] + 0"])
def test_a_chain_with_a_middle_that_is_computed(symbol: str, middle: str) -> None:
    """B5: every comparison there is; the middle is evaluated once."""
    function = function_of(f"""
        def f(a, b, c):
            if a.sum() {symbol} {middle} {symbol} c.sum():
                return a * 2
            return a - 1
    """)
    given = [tensor(float(number)) for number in (1, 2, 3)]
    one, two, three = given
    inputs = [given, given[::-1], [one, one, one], [one, one, two], [two, three, one]]
    assert_same(function, *map(tuple, inputs))


@pytest.mark.parametrize(
    ("symbol", "given"), [("in", (1, [1, 2], [[1, 2]])), ("is not", (1, 2, 3)), ("is", (1, 1, 1))]
)
def test_a_chain_of_other_comparisons(symbol: str, given: tuple[object, ...]) -> None:
    """B5: of Python values, each with the same middle."""
    function = function_of(f"""
        def f(a, b, c):
            return a {symbol} (b or None) {symbol} c
    """)
    assert d2s.convert(function)(*given) == function(*given)


@pytest.mark.parametrize("word", ["and", "or"])
def test_three_operands(word: str) -> None:
    """B5: each operand behind a tensor is asked, the middle one too."""
    function = function_of(f"""
def f(x, y, z):
    whole = x.sum() > 0 {word} y.sum() > 0 {word} z.sum() > 0
    if x.max() > 0 {word} y.max() > 0 {word} z.max() > 0:
        return x, whole
    return y - z, whole
""")
    signs = itertools.product((1.0, -1.0), repeat=3)
    assert_same(function, *(tuple(tensor(sign, 2 * sign) for sign in each) for each in signs))
