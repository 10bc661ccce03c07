"""Layers of the user's own gradients, ``PyLayer`` (rule C7)."""

from __future__ import annotations

import functools
from typing import Any

import paddle
import pytest

import d2s
from d2s.errors import (
    UnsupportedInGraphError,
)
from tests.helpers import assert_same, scalar, tensor

X = tensor(1.0, 2.0, 3.0)


SIGNS = [(X, scalar(1.0)), (X, scalar(-1.0)), (X, scalar(0.0))]


def refused(function: Any, kind: type[Exception], words: str, line: int) -> None:
    with pytest.raises(kind, match=words) as error:
        d2s.to_static(function)(*SIGNS[0])
    assert error.value.line == function.__code__.co_firstlineno + line


class Squared(paddle.autograd.PyLayer):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        (x,) = ctx.saved_tensor()
        return gradient * 2 * x


class Scaled(paddle.autograd.PyLayer):
    """Its ``forward`` is no plain function, so it has no closure to look into."""

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return gradient * 2


def _scaled(factor: float, ctx: Any, x: Any) -> Any:
    return x * factor


Scaled.forward = staticmethod(functools.partial(_scaled, 2.0))


def test_a_py_layer_in_a_static_loop_is_refused() -> None:
    """C7: Paddle has no gradient for it there."""

    def f(x, s):
        k = s * 0
        while k < 2:
            x = Squared.apply(x)
            k = k + 1
        return x

    refused(f, UnsupportedInGraphError, "PyLayer 'Squared'", 3)


def test_a_py_layer_whose_forward_is_a_partial_function() -> None:
    """C7: value and gradient."""

    def f(x, s):
        return Scaled.apply(x) * s

    assert_same(f, *SIGNS)
