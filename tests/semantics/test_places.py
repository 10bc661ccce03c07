"""Indices, slices and ranges, each end and each step (rules C5, D1, E1)."""

from __future__ import annotations

import paddle
import pytest

import d2s
from tests.helpers import assert_same, function_of, scalar, tensor

X = tensor(1.0, 2.0, 3.0)
N = [(X, scalar(n)) for n in (4, 2, 0)]


@pytest.mark.parametrize(
    "bounds",
    ["n", "0, n", "1, n", "2, n, 1", "0, n, 2", "n, 0, -1", "-1, n", "n, 4", "1, 9, n + 1"],
)
def test_ranges(bounds: str) -> None:
    """C5: a range with a tensor in it begins, steps and ends where Python's does."""
    function = function_of(f"""
def f(x, n):
    seen = x * 0
    for i in range({bounds}):
        seen = seen * 10 + i
    return seen
""")
    assert_same(function, *N, grad=False)


GROWN = """
def f(x, n):
    out = [x, x * 2, x * 3]
    for i in range(n):
        out.append(x + i)
    {after}
"""


@pytest.mark.sampled(2, also=["return out[::0]", "return out[::1], out[0:2:1], out[-2:]"])
@pytest.mark.parametrize(
    "after",
    [
        "return out.pop(-2), out",
        "return out.pop(0), out.pop(), out",
        "return out.pop(1), out.pop(-1), out",
        "return out[::1], out[0:2:1], out[-2:]",
        "return out[::-2], out[2:0:-1], out[5:1]",
        "return out[::0]",
        "return out[7]",
        "return out[-9]",
    ],
)
def test_places_in_a_list_that_has_grown(after: str) -> None:
    """D1: the item that Python takes, and the exception that it raises."""
    assert_same(function_of(GROWN.format(after=after)), *N, grad=False)


@pytest.mark.parametrize("items", ["[x, x * 2, x * 3]", "(x, x * 2)", "[5, 6, 7]", "[x, 1.0]"])
def test_an_index_that_is_a_tensor(items: str) -> None:
    """E1: the item of Python's list or tuple, from either end, and outside of it."""
    function = function_of(f"def f(x, i):\n    return {items}[i]")
    assert_same(function, *((X, scalar(index)) for index in (1, 0, -1, -2)), grad=False)
    for index in (3, -4):
        with pytest.raises(IndexError):
            function(X, scalar(index))
        with pytest.raises(IndexError):
            d2s.to_static(function)(X, scalar(index))


@pytest.mark.parametrize(
    "expression",
    [
        "b is True",
        "b is False",
        "b is not True",
        "1 if b is True else 2",
        "b is None, b is not None",
    ],
)
def test_identity_of_a_truth_value(expression: str) -> None:
    """B5: ``bool`` of a tensor is one of two objects."""
    function = function_of(f"def f(x):\n    b = bool(x.sum() > 0)\n    return {expression}")
    assert_same(function, tensor(1.0), tensor(-1.0), grad=False)


@pytest.mark.parametrize(
    "iterable",
    [
        "zip(x, [1, 2, 3])",
        "zip([0.5, 1.5, 2.5], x)",
        "enumerate(x, 5)",
        "zip(x, [True, False, True])",
    ],
)
def test_side_by_side_with_python_values(iterable: str) -> None:
    """C5: with a length that is known, and with one that is not."""
    function = function_of(f"""
def f(x):
    total = x.sum() * 0
    for a, b in {iterable}:
        total = total * 2 + a * b
    return total
""")
    assert_same(function, X, tensor(1.0, 2.0), tensor(4.0, 5.0, 6.0))
    spec = [paddle.static.InputSpec([None], "float32")]
    assert_same(function, X, tensor(1.0), static=d2s.to_static(function, input_spec=spec))
