"""Operations for which Paddle declares another dtype than comes out (B1, D1)."""

from __future__ import annotations

from typing import Any

import paddle
import pytest

from tests.helpers import assert_same, function_of

KINDS = ("bool", "int32", "int64", "float32", "float64")

CONDITIONS = {
    "equal_all": "paddle.equal_all(x, y)",
    "not equal_all": "not paddle.equal_all(x, y)",
    "equal_all of itself": "paddle.equal_all(x, x).item()",
    "is_empty": "paddle.is_empty(x)",
    "any": "x.any()",
    "all": "bool(paddle.all(x))",
    "unique": "paddle.unique(x).sum() > 1",
    "method unique": "x.unique()[-1] == y.unique()[-1]",
    "unique with counts": "paddle.unique(x, return_counts=True)[0][0] == x[0, 0]",
    "reduce_as": "paddle.reduce_as(x, x)[0, 0] == y[0, 0]",
}

OF_FLOATS = {
    "allclose": "paddle.allclose(x, y)",
    "isclose": "paddle.isclose(x, y).all()",
    "rank": "paddle.linalg.matrix_rank(x) == 2",
    "rank with a tolerance": "paddle.linalg.matrix_rank(x, tol=0.1) > 1",
    "rank with two": "paddle.linalg.matrix_rank(x, atol=0.1, rtol=0.1) > 1",
    "rank of a solution": "paddle.linalg.lstsq(x, y, driver='gelsd')[2] == 2",
}


def made(condition: str) -> Any:
    return function_of(
        f"def f(x, y):\n    if {condition}:\n        return x\n    return y.astype('int64') + 1\n"
    )


def given(dtype: str) -> tuple[Any, Any]:
    return (
        paddle.to_tensor([[0, 1], [1, 3]]).astype(dtype),
        paddle.to_tensor([[0, 1], [0, 2]]).astype(dtype),
    )


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        (name, dtype)
        for name in CONDITIONS
        for dtype in KINDS
        if dtype != "bool" or "unique" not in name  # for which dygraph has no kernel
    ],
)
def test_as_a_condition(name: str, dtype: str) -> None:
    """B1: a truth of the run is asked for what it is."""
    x, y = given(dtype)
    function = made(CONDITIONS[name])
    for pair in ((x, y), (y, x), (x, x)):
        assert_same(function, *pair)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", OF_FLOATS)
def test_as_a_condition_of_floats(name: str, dtype: str) -> None:
    """B1: a truth of the run is asked for what it is."""
    x, y = given(dtype)
    function = made(OF_FLOATS[name])
    for pair in ((x, y), (y, x), (x, x)):
        assert_same(function, *pair)


@pytest.mark.parametrize("dtype", ["int32", "int64", "float64"])
def test_what_is_computed_with_a_result(dtype: str) -> None:
    """D1: dtypes follow the rules of dygraph from there on."""
    function = function_of(
        "def f(x, y):\n"
        "    u = paddle.unique(x)\n"
        "    r = paddle.linalg.matrix_rank(x.astype('float32'))\n"
        "    if x.sum() > 3:\n"
        "        u = u + 1\n"
        "    return u * 2, u / 2, r + 1, r / 2, paddle.reduce_as(x, y) + 1\n"
    )
    assert_same(function, *given(dtype))
