"""Attributes that the ``forward`` of a ``PyLayer`` gives its context, tensors among them (C7)."""

from __future__ import annotations

from typing import Any

import paddle
import pytest
from paddle.autograd import PyLayer

from tests.helpers import assert_same, tensor

X = tensor(0.4, 1.5, -0.2)
OUTSIDE = paddle.to_tensor([2.0, 3.0, 4.0])


class Power(PyLayer):
    @staticmethod
    def forward(ctx: Any, x: Any, power: int = 3) -> Any:
        ctx.x = x
        ctx.power = power
        return x**power

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return gradient * ctx.power * ctx.x ** (ctx.power - 1)


class Many(PyLayer):
    """Attributes and saved tensors, containers, and a tensor of the module."""

    @staticmethod
    def forward(ctx: Any, x: Any, y: Any) -> Any:
        ctx.save_for_backward(y)
        ctx.parts = {"x": x, "sums": [x.sum(), y.sum()], "n": 2}
        ctx.twice = ctx.parts["x"] * 2
        ctx.outside = OUTSIDE
        return x * y * OUTSIDE, x + y

    @staticmethod
    def backward(ctx: Any, first: Any, second: Any) -> Any:
        (y,) = ctx.saved_tensor()
        parts = ctx.parts
        of_x = first * y * ctx.outside + second * parts["n"]
        return of_x, (first * parts["x"] + second * OUTSIDE) * parts["sums"][1] + ctx.twice


class Order(PyLayer):
    @staticmethod
    def forward(ctx: Any, x: Any, order: Any) -> Any:
        with paddle.no_grad():
            ctx.order = order
            return paddle.gather(x, paddle.argsort(order))

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return paddle.gather(gradient, ctx.order), None


class Replaced(PyLayer):
    """An attribute that holds a tensor first, and then not, and the other way round."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.mask, ctx.scale = None, x
        y = x * 2
        ctx.mask, ctx.scale = y > 1, 2.0
        return y

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return paddle.where(ctx.mask, gradient * ctx.scale, gradient * 0)


class Size(PyLayer):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.shape = x.shape
        (ctx.size,) = x.shape
        return x.sum()

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return gradient.expand(ctx.shape) * ctx.size


class Masked(PyLayer):
    """A gradient for the first of two tensors; none for the last one, which stops them."""

    @staticmethod
    def forward(ctx: Any, w: Any, mask: Any, decay: float) -> Any:
        ctx.save_for_backward(w, mask)
        ctx.decay = decay
        return w * mask

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        w, mask = ctx.saved_tensor()
        return gradient + ctx.decay * (1 - mask) * w


class MaskedAndScaled(Masked):
    """The same with a tensor of the module in it."""

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        w, mask = ctx.saved_tensor()
        return (gradient * OUTSIDE + ctx.decay * (1 - mask) * w,)


CALLS = {
    "fewer gradients": lambda x: Masked.apply(x, (x.detach() > 0).astype("float32"), 0.1),
    "fewer in a tuple": lambda x: MaskedAndScaled.apply(x, OUTSIDE - 2, 0.1),
    "a tensor": lambda x: Power.apply(x),
    "two calls": lambda x: Power.apply(x, 2) * Power.apply(x),
    "containers": lambda x: sum(Many.apply(x, x * 2)),
    "under no_grad": lambda x: Order.apply(x * 2, paddle.to_tensor([2, 0, 1])) * OUTSIDE,
    "assigned twice": lambda x: Replaced.apply(x),
    "an open size": lambda x: Size.apply(x[x > 0]) * x,
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("grad", [True, False])
def test_attributes_of_the_context(name: str, grad: bool) -> None:
    call = CALLS[name]

    def f(x):
        return call(x) * 2

    assert_same(f, X, X + 1, grad=grad)


def test_in_a_branch() -> None:
    def f(x):
        if x.sum() > 1:
            x = Power.apply(x)
        return x * 2

    assert_same(f, X, X - 1)
