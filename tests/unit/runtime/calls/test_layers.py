"""Layers and functions that Paddle's or our converter has converted before (rules E2, G3)."""

from __future__ import annotations

from functools import partial
from typing import Any

import paddle
import pytest

import d2s
from tests.helpers import assert_same, function_of, tensor

POSITIVE, NEGATIVE = tensor(1.0, 2.0), tensor(-1.0, 0.0)


def inner(x: Any) -> Any:
    return x * 2 if x.sum() > 0 else x - 1


class Net(paddle.nn.Layer):
    def forward(self, x: Any) -> Any:
        if x.sum() > 0:
            return x * 3
        return x - 1


def hooked(net: Any) -> Any:
    """``net`` with a hook that asks a tensor."""
    net.register_forward_post_hook(
        lambda layer, given, made: made + 1 if made.sum() > 0 else made - 1
    )
    return net


def with_forward(forward: Any) -> Any:
    """A ``Net`` whose instance has a ``forward`` of its own."""
    net = Net()
    net.forward = forward(net)
    return net


@pytest.mark.parametrize("convert", [partial(paddle.jit.to_static, full_graph=True), d2s.to_static])
def test_a_converted_function_is_called(convert: Any) -> None:
    """E2: what it was made of is captured with the caller."""
    function = function_of("def f(x):\n    return g(x) + 1", None, g=convert(inner))
    plain = function_of("def f(x):\n    return g(x) + 1", None, g=inner)
    static = d2s.to_static(function)
    for x in (POSITIVE, NEGATIVE):
        assert static(x).tolist() == plain(x).tolist()


@pytest.mark.parametrize(
    "make",
    [
        lambda: Net(),
        lambda: hooked(Net()),
        lambda: with_forward(lambda net: d2s.to_static(net.forward)),
        lambda: with_forward(lambda net: paddle.nn.functional.relu),
        lambda: hooked(paddle.nn.ReLU()),
        lambda: paddle.nn.Sequential(Net(), hooked(paddle.nn.Linear(2, 2))),
    ],
)
def test_a_layer_is_called(make: Any) -> None:
    """E2: its ``forward``, whatever it is, and its hooks are captured."""
    net = make()
    assert_same(function_of("def f(x):\n    return net(x) * 2", None, net=net), POSITIVE, NEGATIVE)


def test_a_layer_of_paddles_converter_is_called() -> None:
    """G3: as the layer that it was."""
    net = paddle.jit.to_static(Net(), full_graph=True)
    static = d2s.to_static(function_of("def f(x):\n    return net(x) * 2", None, net=net))
    for x in (POSITIVE, NEGATIVE):
        assert static(x).tolist() == (Net()(x) * 2).tolist()
