"""Layers of the user's own gradients, ``PyLayer`` (rule C7)."""

from __future__ import annotations

import functools
from typing import Any

import paddle
import pytest

import d2s
from d2s.errors import LoopGradientError, UnsupportedInGraphError
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


class _Masked(paddle.autograd.PyLayer):
    @staticmethod
    def forward(ctx: Any, w: Any, mask: Any) -> Any:
        ctx.save_for_backward(w, mask)
        return w * mask

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        w, mask = ctx.saved_tensor()
        return gradient * mask, gradient * w


@pytest.mark.parametrize("stopped", [0, 1])
def test_a_gradient_for_what_wants_none(stopped: int) -> None:
    """C7: ``ValueError`` in dygraph, which is what happens by default; one program is refused."""

    def f(w: Any, mask: Any) -> Any:
        return _Masked.apply(w, mask) * 2

    def given(stops: bool) -> list[Any]:
        made = [paddle.to_tensor([1.0, 2.0]), paddle.to_tensor([1.0, 0.0])]
        for place, each in enumerate(made):
            each.stop_gradient = stops and place == stopped
        return made

    for convert in (lambda f: f, lambda f: d2s.to_static(f, full_graph=False)):
        with pytest.raises(ValueError, match="should return None at"):
            convert(f)(*given(stops=True)).sum().backward()
    one = d2s.to_static(f, full_graph=True)
    with pytest.raises(LoopGradientError, match=f"for tensor {stopped} of its forward") as caught:
        one(*given(stops=True)).sum().backward()
    assert caught.value.code == "D2S307"
    w, mask = given(stops=False)
    one(w, mask).sum().backward()
    assert w.grad.tolist() == [2.0, 0.0]
    assert mask.grad.tolist() == [2.0, 4.0]
    assert one(*[each.detach() for each in (w, mask)]).tolist() == [2.0, 0.0]
