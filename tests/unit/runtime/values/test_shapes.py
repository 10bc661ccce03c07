"""Shapes that the run computes, items from lists, and dtypes (rules B1, E1, E4)."""

from __future__ import annotations

import numpy as np
import paddle
import pytest
from paddle.static import InputSpec

import d2s
from tests.helpers import assert_same, function_of, scalar, tensor

X = tensor(1.0, 2.0, 3.0)


SIGNS = [(X, scalar(1.0)), (X, scalar(-1.0)), (X, scalar(0.0))]


SHAPES = {
    "y = paddle.tile(x, paddle.full([2], 2, 'int64'))": "sizes that are one constant",
    "y = paddle.tile(x, paddle.assign(paddle.to_tensor([2, 3])))": "a tensor of sizes",
    "y = paddle.tile(x, paddle.cast(paddle.full([2], 3, 'int64'), 'int32'))": "another dtype",
    "y = paddle.tile(x, paddle.shape(x)[0:1] * paddle.full([1], 2, 'int64'))": "a product",
    "y = paddle.expand(x.sum(), paddle.concat([paddle.shape(x), paddle.full([1], 3, 'int64')]))": (
        "a size of x and a constant"
    ),
    "y = paddle.expand(x.reshape([1, -1]), [n, x.shape[0]])": "a number of the run",
    "y = paddle.expand(x.reshape([1, -1]), [4, -1])": "a size as it is",
}


@pytest.mark.parametrize("statement", SHAPES, ids=SHAPES.get)
def test_shapes_that_the_run_computes_go_through_branches_and_loops(statement: str) -> None:
    """C7: with their gradients, whether or not it is known that they are not empty."""
    branch = function_of(
        f"""
        def f(x, n):
            {statement}
            if x.sum() > 0:
                z = y * 2
            else:
                z = y * y
            return z
        """
    )
    loop = function_of(
        f"""
        def f(x, n):
            {statement}
            z, k = y, n * 0
            while k < n:
                if x.sum() > 0:
                    z = z + y
                k = k + 1
            return z
        """
    )
    specs = [InputSpec([None], "float32", stop_gradient=False), InputSpec([], "int64")]
    for function in (branch, loop):
        static = d2s.to_static(function, input_spec=specs)
        assert_same(function, (X, scalar(2)), (-X, scalar(3)), static=static)


def test_an_item_is_assigned_from_a_list() -> None:
    """B4: Python numbers take the dtype of the tensor."""

    f = function_of(
        """
        def f(x, s):
            y = x * 2
            y[0:2] = np.array([1.0, 2.0], "float32")
            return y * s
        """,
        np=np,
    )
    assert_same(f, *SIGNS)


def test_what_is_unique_keeps_its_dtype() -> None:
    """E1: Paddle declares float32 in a program, whatever it is given."""

    def f(x, s):
        numbers = (x * s).detach().astype("int64")
        found, counts = paddle.unique(numbers, return_counts=True)
        return found * 2, counts, paddle.unique(x.detach())

    assert_same(f, *SIGNS)
