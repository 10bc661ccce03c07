"""In-place methods that have no form of their own in a program (rules E1, B4)."""

from __future__ import annotations

import re

import paddle
import pytest

import d2s
from d2s.errors import D2SError
from tests.helpers import assert_same, function_of

SQUARE = paddle.arange(9, dtype="float32").reshape([3, 3])


@pytest.mark.parametrize(
    "call",
    [
        "normal_()",
        "uniform_()",
        "exponential_()",
        "bernoulli_(0.5)",
        "cauchy_()",
        "geometric_(0.5)",
        "log_normal_()",
        "cast_('int32')",
        "apply_(lambda v: v + 1)",
        "fill_diagonal_(1.0, wrap=True)",
        "fill_diagonal_(1.0, offset=1)",
        "unsqueeze(0).fill_diagonal_(1.0)",
        "reshape([1, 9]).fill_diagonal_(1.0)",
    ],
)
def test_a_coded_error_names_the_method_and_the_line(call: str) -> None:
    """E1: no wrong numbers, and no drawing of random numbers that dygraph would not draw."""
    function = function_of(f"def f(x):\n    y = x * 1\n    y.{call}\n    return y")
    with pytest.raises(D2SError) as caught:
        d2s.to_static(function)(SQUARE)
    (method,) = re.findall(r"\w+_(?=\()", call)
    assert f"{method}() changes a tensor in place" in str(caught.value)
    assert ":3:" in str(caught.value)


@pytest.mark.parametrize(
    "call", ["fill_diagonal_(1.5)", "zero_()", "fill_(2.0)", "scale_(2.0, 1.0)", "clip_(1, 4)"]
)
def test_a_method_with_a_plain_form(call: str) -> None:
    """B4: the tensor that the name stands for changes."""
    function = function_of(f"def f(x):\n    y = x * 1\n    z = y.{call}\n    return y, z + 1")
    assert_same(function, SQUARE, grad=False)
