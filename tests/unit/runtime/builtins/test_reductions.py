"""``max``, ``min``, ``sorted``, ``any`` and ``all`` over items of several kinds (rule E1)."""

from __future__ import annotations

from typing import Any

import paddle
import pytest

import d2s
from tests.helpers import assert_same, function_of, scalar, tensor

NUMBERS_FIRST = {
    "a larger number": "max(1.0, 5.0, x.sum())",
    "a smaller number": "max(5.0, 1.0, x.sum())",
    "min": "min(3.0, 0.5, 2.0, x.sum())",
    "in a list": "max([1.0, 5.0, x.sum(), 2.0])",
    "a number by a key": "max([0, 1, 2], key=lambda i: [2.5, n, 1][i])",
    "sorted by ints and floats": "sorted([0, 1, 2], key=lambda i: [2.5, n, 2.2][i])",
    "large integers": "max([0, 1], key=lambda i: [n + 2**53, n + 2**53 + 1][i])",
    "a default beside items": "max(n, 3, default=4)",
    "tensors": "max(x[0], x[1])",
    "tensors sorted by tensors": "sorted([x, x * 2], key=lambda v: v[0])",
}


@pytest.mark.parametrize("name", NUMBERS_FIRST)
def test_the_order_of_numbers_and_tensors(name: str) -> None:
    """E1: Python compares the items one by one, numbers among them."""
    function = function_of(f"def f(x, n):\n    return {NUMBERS_FIRST[name]}")
    inputs = [(tensor(*given), scalar(n)) for given, n in [((1.0, 3.0), 2), ((7.0, -1.0), 3)]]
    assert_same(function, *inputs, grad=False)


@pytest.mark.parametrize("name", ["any", "all"])
def test_the_most_items_of_a_generator(name: str) -> None:
    """E1: as many branches as the message names, and no more."""
    function = function_of(
        f"def f(x, n):\n    return {name}((x > {name != 'any'} for _ in range(n)))"
    )
    static: Any = d2s.to_static(function)
    given = paddle.to_tensor(1)
    assert bool(static(given, 80)) is bool(function(given, 80))
    with pytest.raises(d2s.D2SError, match="more than 80 branches"):
        static(given, 81)


def test_tensors_of_several_elements_have_no_order() -> None:
    """E1: the message speaks of the function that compares them."""

    def f(x):
        return max(x, x + 1)

    with pytest.raises(d2s.D2SError, match=r"max\(\) compares tensors of shape \[2\]"):
        d2s.to_static(f)(tensor(1.0, 2.0))


@pytest.mark.parametrize("total", ["sum(out)", "sum(out, 0.5)", "sum(out, 2)", "sum(out) * 2"])
@pytest.mark.parametrize("number", ["0.1", "3"])
def test_a_sum_of_tensors_and_numbers(number: str, total: str) -> None:
    """E1: it is a tensor on the runs on which one of the items is; a tensor silently, once."""
    function = function_of(
        f"""
        def f(x):
            out = []
            if x[0] > 0:
                out.append({number})
            if x.sum() > 4:
                out.append(x.sum())
            if x[1] > 0:
                out.append({number})
            return {total}
        """
    )
    rows = ([1.0, 1.0, -1.0], [1.0, 3.0, 1.0], [2.0, -1.0, 4.0], [3.0, 1.0, 4.0])
    assert_same(function, *(tensor(*row) for row in rows))
