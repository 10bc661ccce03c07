"""Numbers of NumPy in expressions with tensors: dygraph takes them for Python's (B3)."""

from __future__ import annotations

import numpy as np
import paddle
import pytest

import d2s
from d2s.errors import UnsupportedInGraphError
from tests.helpers import assert_same, function_of, scalar, tensor

NUMBERS = ["np.float64(1.5)", "np.float32(2)", "np.int64(2)", "np.int32(3)", "np.float16(2)"]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("sign", ["+", "-", "*", "/", "//", "%", "**", "<", ">=", "==", "!="])
def test_beside_a_tensor(sign: str, number: str) -> None:
    """B3: on either side, of floats and of integers, in a branch and in a loop."""
    f = function_of(
        f"""
def f(x, t):
    n = {number}
    y = x {sign} n, n {sign} x, x.astype("float64") {sign} n
    if not isinstance(n, np.float16 | np.float32):
        y = *y, t {sign} n, n {sign} t
    if t > 0:
        x = (n * x).astype("float32")
    while x.sum() < 50:
        x = x * n + n
    return y, x
""",
        np=np,
    )
    assert_same(f, *((tensor(1.0, 2.0), scalar(value)) for value in (5, 3)), grad=sign in "+-*/")


@pytest.mark.parametrize("use", ["n * t", "t + n", "t < n"])
def test_a_narrow_float_beside_integers(use: str) -> None:
    """B3: dygraph cuts it to an integer."""
    f = function_of(f"def f(t):\n    n = np.float32(1.5)\n    return {use}", np=np)
    with pytest.raises(UnsupportedInGraphError, match="tensor of integers"):
        d2s.to_static(f)(scalar(2))


def test_of_a_layer() -> None:
    """B3: beside a parameter, and a scale that is an attribute."""
    layer = paddle.nn.Linear(2, 2)
    scale = np.sqrt(np.float64(2.0))
    f = function_of("def f(x):\n    return scale * layer(x) + scale * layer.weight.sum() / scale")
    f.__globals__.update(layer=layer, scale=scale)
    assert_same(f, (paddle.ones([1, 2]),))


@pytest.mark.parametrize("use", ["n * k", "k * n", "k < n"])
def test_beside_a_number_of_the_run(use: str) -> None:
    """E1: it would be a number of NumPy."""
    f = function_of(f"def f(t):\n    n = np.float64(3)\n    k = int(t)\n    return {use}", np=np)
    with pytest.raises(UnsupportedInGraphError, match="number of NumPy"):
        d2s.to_static(f)(scalar(2))
