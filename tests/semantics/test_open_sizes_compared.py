"""Sizes that only the run knows, compared with others; masks and what they pick (rules A1, E4)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import paddle
import pytest

import d2s
from tests.helpers import assert_same, function_of, tensor

X = tensor([0.5, -1.5, 2.0, 1.0], [1.5, 0.2, -0.7, 0.1], [0.4, 0.9, 0.3, -1.0])
SIZES = (X, paddle.to_tensor(4)), (X, paddle.to_tensor(3)), (X, paddle.to_tensor(2))


@pytest.mark.parametrize(
    "test",
    [
        "x.shape == y.shape",
        "y.shape == x.shape",
        "list(x.shape) != list(y.shape)",
        "y.shape == [3, 4]",
        "y.shape == (3, 4)",
        "(3, 4) == y.shape",
        "y.shape != (3, 4)",
        "tuple(y.shape) == (3, 4)",
        "tuple(y.shape) == [3, 4]",
        "y.shape[-1:] == [4]",
        "y.shape[1:] == x.shape[1:]",
        "[3] + y.shape[1:] == [3, 4]",
        "y.shape in ([3, 4], [3, 2])",
        "(n, n + 1) == (3, 4)",
        "(n, [n, 1]) == (3, [3, 1])",
        "[n, 1] == [n, 1]",
        "[n] == [n, n]",
        "a == b",
        "a != b",
        "operator.eq(a, b)",
        "[3, 4] == a == b",
        "all(one == other for one, other in zip(a, b))",
    ],
)
def test_lists_and_tuples_of_sizes(test: str) -> None:
    """A1: two sequences are equal if their items are, and the run knows the items."""
    f = function_of(
        f"""
        def f(x, n):
            y = paddle.ones([3, n])
            a, b = x.shape, y.shape
            if {test}:
                return x * 2
            return x.sum() + y.sum()
        """,
        operator=__import__("operator"),
    )
    assert_same(f, *SIZES)


def test_shapes_that_an_assert_compares() -> None:
    """F1: what dygraph raises."""
    f = function_of(
        """
        def f(x, n):
            y = paddle.ones([3, n])
            assert x.shape == y.shape, f"not {list(y.shape)}"
            return x + y
        """
    )
    assert_same(f, *SIZES)


def test_equality_of_pythons_own_is_pythons() -> None:
    """A1: classes that say what equals them are asked as before."""

    class Odd:
        def __eq__(self, other: object) -> str:  # type: ignore[override]
            return "odd"

    class Names(list):  # type: ignore[type-arg]
        def __eq__(self, other: object) -> bool:
            return True

    odd, names = Odd(), Names()

    def f(x, n):
        items = [n, x]
        return x * 2, odd == items, items == odd, names == items, items != names, (1, 2) == [1, 2]

    assert_same(f, *SIZES)


WHERES: dict[str, Callable[..., Any]] = {
    "where": lambda mask, x: paddle.where(mask, paddle.zeros_like(x), x),
    "expanded": lambda mask, x: paddle.where(mask.expand_as(x), paddle.zeros_like(x), x),
    "masked_fill": lambda mask, x: paddle.masked_fill(x, mask, -1.0),
    "a number": lambda mask, x: paddle.where(mask, 0.0, x),
}


@pytest.mark.parametrize("name", WHERES)
def test_a_mask_of_lengths(name: str) -> None:
    """E4: the mask is as long as the longest length, which only the run knows."""
    fill = WHERES[name]

    def f(x, lengths):
        mask = paddle.arange(int(lengths.max())).unsqueeze(0) >= lengths.unsqueeze(-1)
        return fill(mask, x)

    assert_same(f, (X, paddle.to_tensor([4, 2, 1])), (X, paddle.to_tensor([1, 4, 4])))


@pytest.mark.parametrize(
    "text",
    [
        "x[:, keep]",
        "x.t()[keep]",
        "x[..., keep]",
        "x[0, keep]",
        "x[paddle.ones([3, n]) > 0]",
        "x[keep[:3]]",
        "x[:, :n][:, paddle.to_tensor([True, False, True, True])]",
    ],
)
def test_a_mask_whose_length_only_the_run_knows(text: str) -> None:
    """E4: Paddle takes the open size for another one."""
    f = function_of(f"def f(x, n):\n    keep = paddle.arange(n) != 1\n    return {text} * 2\n")
    assert_same(f, (X, paddle.to_tensor(4)))


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_a_mask_that_does_not_fit_fails_on_the_run(n: int) -> None:
    """Never a wrong value: an error, as in dygraph, if in other words."""

    def rows(x, n):
        return x.t()[paddle.arange(n) != 1]

    def cells(x, n):
        return x[paddle.ones([n, 12 // n]) > 0]

    for f in (rows, cells) if n != 3 else (rows,):  # 3 by 4 cells do fit
        for function in (f, d2s.to_static(f)):
            with pytest.raises((IndexError, ValueError)):
                function(X, paddle.to_tensor(n))


@pytest.mark.parametrize(
    "text",
    [
        "y[:, keep] = 5.0",
        "y[:, keep] = x.sum()",
        "y[:, keep] = y[:, keep] * 2 + 1",
        "y[..., keep] = 0.0",
        "y[:, paddle.to_tensor([0, 2])] = 1.0",
        "y[:, [0, 2]] += 1",
        "y[keep[:3]] = 7.0",
        "y[:, keep] = 5.0\n    y[:, n - 2] = 1.0",
    ],
)
def test_items_that_are_not_in_front_are_assigned(text: str) -> None:
    """B4: Paddle writes into the tensor transposed, which is no part that anybody has."""
    f = function_of(
        f"def f(x, n):\n    y = x * 2\n    keep = paddle.arange(n) != 1\n    {text}\n    return y\n"
    )
    assert_same(f, (X, paddle.to_tensor(4)))


def test_a_part_that_is_used_later_shows_the_new_items() -> None:
    """B4: row 0 is a view."""

    def f(x, n):
        y = x * 2
        row, turned = y[0], y.t()
        y[:, paddle.arange(4) < n] = 5.0
        return row + 0, turned + 0, y

    assert_same(f, (X, paddle.to_tensor(2)), (X, paddle.to_tensor(3)))
