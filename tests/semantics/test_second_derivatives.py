"""Gradients of gradients: those that dygraph has, a program has too (rule C7)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import paddle
import pytest
from paddle.nn import functional as F

import d2s
from d2s.errors import LoopGradientError
from tests.helpers import assert_same

ONE = paddle.ones([3])

Function = Callable[[Any], Any]


def _twice(loss: Any, x: Any) -> Any:
    gradient = paddle.grad(loss, x, create_graph=True)[0]
    return paddle.grad((gradient * gradient).sum(), x)[0], gradient


def product(x: Any) -> Any:
    return _twice((ONE * x).sum() ** 2, x)


def inner_product(x: Any) -> Any:
    return _twice((ONE @ x) ** 2, x)


def sum_of_both(x: Any) -> Any:
    return _twice(((ONE + x) ** 3).sum() + ((x - ONE) ** 3).sum(), x)


def quotient(x: Any) -> Any:
    return _twice((ONE / (x * x + 1)).sum() + (x / (ONE + 2)).sum(), x)


def chosen(x: Any) -> Any:
    return _twice(paddle.where(x > 0, x**3, ONE).sum(), x)


def layer(x: Any) -> Any:
    return _twice(
        F.tanh(F.linear(x.reshape([1, 3]), paddle.ones([3, 2]), paddle.ones([2]))).sum(), x
    )


def behind_detach(x: Any) -> Any:
    y = x.detach() * 2
    return _twice((y * x * x).sum(), x)


@pytest.mark.parametrize(
    "function", [product, inner_product, sum_of_both, quotient, chosen, layer, behind_detach]
)
def test_an_operand_without_a_gradient_counts(function: Any) -> None:
    """C7: second derivatives of products with a constant were 0, or ended the process."""
    assert_same(function, paddle.to_tensor([0.5, -1.0, 2.0]), rtol=1e-4)


def exponential(x: Any) -> Any:
    return _twice(x.exp().sum(), x)


def silu(x: Any) -> Any:
    return _twice(F.silu(x).sum(), x)


def larger(x: Any) -> Any:
    return _twice((paddle.maximum(x, ONE * 0.1) ** 3).sum(), x)


def smaller(x: Any) -> Any:
    return _twice(paddle.minimum(x**2, x**3).sum(), x)


def gathered(x: Any) -> Any:
    return _twice((paddle.gather(x, paddle.to_tensor([0, 2])) ** 3).sum(), x)


def taken(x: Any) -> Any:
    return _twice((paddle.take_along_axis(x, paddle.to_tensor([0, 2]), 0) ** 3).sum(), x)


def indexed(x: Any) -> Any:
    return _twice(x[0] * x[1] ** 2 * x[1:].sum(), x)


def third(x: Any) -> Any:
    gradient = paddle.grad((x**4 + x.exp()).sum(), x, create_graph=True)[0]
    second = paddle.grad(gradient.sum(), x, create_graph=True)[0]
    return paddle.grad(second.sum(), x)[0], second


def third_of_a_layer(x: Any) -> Any:
    y = F.tanh(F.linear(x.reshape([1, 3]), paddle.ones([3, 2]), paddle.ones([2])))
    gradient = paddle.grad(y.sum(), x, create_graph=True)[0]
    return paddle.grad((gradient - ONE).square().sum(), x, create_graph=True)[0]


def differentiated_outside(x: Any) -> Any:
    gradient = paddle.grad((x.exp() * F.silu(x)).sum(), x, create_graph=True)[0]
    return (gradient * gradient).sum()


@pytest.mark.parametrize(
    "function",
    [
        exponential,
        silu,
        larger,
        smaller,
        gathered,
        taken,
        indexed,
        third,
        third_of_a_layer,
        differentiated_outside,
    ],
)
def test_second_derivatives_that_dygraph_has(function: Any) -> None:
    """C7: ``exp``, ``where``, ``silu``, ``maximum`` and their like were refused (D2S307)."""
    assert_same(function, paddle.to_tensor([0.5, -1.0, 2.0]), rtol=1e-4)


def batched(x: Any) -> Any:
    return _twice(paddle.bmm(x.reshape([1, 1, 3]), x.reshape([1, 3, 1])).sum() ** 2, x)


def test_a_missing_derivative_is_named() -> None:
    """C7: the refusal says which operation has none, and blames no loops where there are none."""
    x = paddle.to_tensor([0.5, -1.0, 2.0], stop_gradient=False)
    with pytest.raises(LoopGradientError, match="a gradient goes through 'bmm_grad'") as caught:
        d2s.to_static(batched)(x)
    assert "loops" not in str(caught.value)
