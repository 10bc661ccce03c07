"""Items of views and arguments, and views with bounds of Python's tensors (rules A1, F3)."""

from __future__ import annotations

from typing import Any

import paddle
import pytest

import d2s
from d2s.errors import InplaceError
from tests.helpers import assert_same, scalar, tensor

X = tensor(1.0, 2.0, 3.0)


SIGNS = [(X, scalar(1.0)), (X, scalar(-1.0)), (X, scalar(0.0))]


def views_in_a_branch(x: Any, s: Any) -> Any:
    y = x * 2
    v = y[0:2]
    if s > 0:
        w = v
        y[0] = 9.0
        z = w * 2
    else:
        z = v
        w = v
    return z, w, y


def an_argument_in_a_loop_that_is_left(x: Any, s: Any) -> Any:
    k = s * 0
    while k < 2:
        x[0] = 5
        if s > 0:
            raise ValueError("left")
        k = k + 1
    return s * 2


def test_items_of_views_and_arguments() -> None:
    """F3: what is written is seen in the views of it, and in an argument after an exception."""
    assert_same(views_in_a_branch, *SIGNS)
    whole = [(paddle.to_tensor([1, 2, 3]), s) for _, s in SIGNS]
    assert_same(an_argument_in_a_loop_that_is_left, *whole)


def test_a_view_whose_bounds_are_a_tensor_of_python() -> None:
    """F3: which part it is, is not known, so a later write would be lost in it."""

    def f(x):
        y = x * 1
        at = paddle.to_tensor([0])
        v = paddle.slice(y, [0], at, at + 2)
        y[0] = 9.0
        return v, y

    with pytest.raises(InplaceError, match="a view") as error:
        d2s.to_static(f)(X)
    assert error.value.line == f.__code__.co_firstlineno + 4
