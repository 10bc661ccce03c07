"""Tensors with a history that some results of a program are computed from, and others are not."""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np
import paddle
import pytest

import d2s
from d2s.errors import BackwardTwiceError
from tests.helpers import function_of

STATE = {
    "the largest so far": (
        "h = paddle.tanh(x @ net.w)\n"
        "net.kept = h.max() if net.kept is None else paddle.maximum(net.kept, h.max())\n"
        "return h.sum()"
    ),
    "a mean of losses, returned": (
        "loss = paddle.tanh(x @ net.w).sum()\n"
        "net.kept = loss if net.kept is None else net.kept * 0.9 + loss * 0.1\n"
        "return loss, net.kept"
    ),
    "behind a loop": (
        "h = x\nfor _ in range(n):\n    h = paddle.tanh(h @ net.w)\n"
        "net.kept = h.max() if net.kept is None else paddle.maximum(net.kept, h.max())\n"
        "return h.sum()"
    ),
    "in a loop": (
        "h = x\nkept = x.sum() if net.kept is None else net.kept\nfor _ in range(n):\n"
        "    h = paddle.tanh(h @ net.w)\n    kept = kept * 0.5 + h.mean()\nnet.kept = kept\n"
        "return h.sum()"
    ),
    "in a branch": (
        "h = paddle.tanh(x @ net.w)\nif net.kept is None:\n    net.kept = h.max()\n"
        "elif h.sum() > 0:\n    net.kept = paddle.maximum(net.kept, h.max())\nreturn h.sum()"
    ),
    "a list": (
        "h = paddle.tanh(x @ net.w)\nnet.several.append(h.mean())\nif len(net.several) > 2:\n"
        "    net.several.pop(0)\nnet.kept = sum(net.several) / len(net.several)\nreturn h.sum()"
    ),
    "a baseline": (
        "h = paddle.tanh(x @ net.w)\n"
        "advantage = h.sum() - (0 if net.kept is None else net.kept.detach())\n"
        "net.kept = h.mean() if net.kept is None else net.kept * 0.9 + h.mean() * 0.1\n"
        "return advantage * advantage"
    ),
    "a weight of its own": (
        "h = paddle.tanh(x @ net.w)\n"
        "net.kept = (h if net.kept is None else net.kept + h) @ net.v\nreturn h.sum()"
    ),
    "with dropout": (
        "h = paddle.nn.functional.dropout(paddle.tanh(x @ net.w), 0.5)\n"
        "net.kept = h.sum() if net.kept is None else net.kept * 0.5 + h.sum()\nreturn h.sum()"
    ),
    "with a count in place": (
        "net.count.add_(paddle.ones([]))\nh = paddle.tanh(x @ net.w) + net.count\n"
        "net.kept = h.max() if net.kept is None else paddle.maximum(net.kept, h.max())\n"
        "return h.sum()"
    ),
}


class Net(paddle.nn.Layer):
    def __init__(self) -> None:
        super().__init__()
        self.w = self.create_parameter([2, 2])
        self.w.set_value(paddle.to_tensor([[0.5, -0.25], [1.0, 0.75]]))
        self.v = self.create_parameter([2, 2])
        self.v.set_value(paddle.to_tensor([[1.5, 0.25], [0.5, -0.5]]))
        self.count = paddle.zeros([])
        self.kept: Any = None
        self.several: list[Any] = []


def _now(*values: Any) -> list[Any]:
    return [
        (value.numpy().copy(), value.stop_gradient) if isinstance(value, paddle.Tensor) else value
        for value in paddle.utils.flatten(values)
    ]


def _assert_close(found: Any, expected: Any) -> None:
    found, expected = paddle.utils.flatten(found), paddle.utils.flatten(expected)
    assert [type(each) for each in found] == [type(each) for each in expected]
    for one, other in zip(found, expected, strict=True):
        if one is not None:
            np.testing.assert_allclose(one, other, rtol=1e-5)


def _train(net: Net, call: Callable[[Any, Any], Any]) -> list[Any]:
    """Each call, its loss gone back through, and a step."""
    found: list[Any] = []
    opt = paddle.optimizer.SGD(0.0625, parameters=net.parameters())
    for scale in (1.0, 0.5, -1.0, 2.0, 0.25):
        x = paddle.to_tensor([[1.0, 2.0], [0.5, -1.0]]) * scale
        result = call(x, paddle.to_tensor(3))
        loss = result[0] if isinstance(result, tuple) else result
        loss.backward()
        found.append(_now(result, net.kept, net.w.grad, net.v.grad))
        opt.step()
        opt.clear_grad()
    return found


def _all_at_once(net: Net, call: Callable[[Any, Any], Any]) -> list[Any]:
    """What is kept after three calls, gone back through; then with the losses, too."""
    found: list[Any] = []
    for losses in (False, True, False):
        total = 0
        for scale in (1.0, 0.5, -1.0):
            x = paddle.to_tensor([[1.0, 2.0], [0.5, -1.0]]) * scale
            result = call(x, paddle.to_tensor(3))
            total = total + (result[0] if isinstance(result, tuple) else result)
        (net.kept.sum() + total if losses else net.kept.sum()).backward()
        found.append(_now(net.kept, net.w.grad, net.v.grad))
        net.kept, net.several = None, []
        net.clear_gradients()
    return found


@pytest.mark.sampled(3)
@pytest.mark.parametrize("full_graph", [True, False])
@pytest.mark.parametrize("use", [_train, _all_at_once])
@pytest.mark.parametrize("name", STATE)
def test_state_that_keeps_its_history(name: str, use: Any, full_graph: bool) -> None:
    """F3, G3: a backward goes to the history of what its loss was computed from, and no other."""

    def seen(**options: Any) -> list[Any]:
        net = Net()
        paddle.seed(7)
        lines = "\n".join(f"    {line}" for line in STATE[name].split("\n"))
        function = function_of(f"def f(x, n):\n{lines}", net=net)
        found: list[Any] = use(net, d2s.to_static(function, **options) if options else function)
        return found

    if name == "with dropout":  # a program draws other numbers: that it can be gone back through
        assert len(seen(full_graph=full_graph)) == len(seen())
    else:
        _assert_close(seen(full_graph=full_graph), seen())


ARGUMENTS = {
    "beside it": "return (x * w).sum(), h * 2 + x",
    "in all": "return (x * w * h).sum(), h * 2 + x",
    "in one of three": "return (x * w).sum(), h.exp(), x * w",
    "in a loop": "y = x\nfor _ in range(n):\n    y = y * w\n    h = h * 0.5\nreturn y.sum(), h",
}


@pytest.mark.parametrize("which", [(0,), (1,), (0, 1)])
@pytest.mark.parametrize("name", ARGUMENTS)
def test_arguments_with_a_history(name: str, which: tuple[int, ...]) -> None:
    """F3: gradients of what a function was given, by way of the results that they come to."""

    def seen(converted: bool) -> list[Any]:
        w = paddle.create_parameter([2], "float32")
        w.set_value(paddle.to_tensor([1.5, -0.5]))
        lines = "\n".join(f"    {line}" for line in ARGUMENTS[name].split("\n"))
        function = function_of(f"def f(x, h, n):\n{lines}", w=w)
        if converted:
            function = d2s.to_static(function, full_graph=True)
        found: list[Any] = []
        for scale in (1.0, 2.0, -1.0):
            base = paddle.to_tensor([0.5, 1.0]) * scale
            base.stop_gradient = False
            hooked: list[Any] = []
            h = base * 3
            h.register_hook(lambda gradient, to=hooked: to.append(gradient.numpy()))
            results = function(paddle.to_tensor([1.0, 2.0]), h, paddle.to_tensor(2))
            sum(results[at].sum() for at in which).backward()
            found.append([_now(*results, w.grad, base.grad), hooked])
            w.clear_gradient(False)
        return found

    _assert_close(seen(True), seen(False))


def test_a_second_backward_is_refused() -> None:
    """F3: one that goes through the result that is joined to a history, too."""
    w = paddle.create_parameter([2], "float32")

    @d2s.to_static(full_graph=True)
    def function(x: Any, h: Any) -> Any:
        return (x * w).sum(), h * w

    h = paddle.create_parameter([2], "float32") * 2
    _, kept = function(paddle.ones([2]), h)
    kept.sum().backward(retain_graph=True)
    with pytest.raises(BackwardTwiceError):
        kept.sum().backward()


@pytest.mark.parametrize("way", ["a history", "a loop", "retain_graph"])
def test_a_tensor_without_memory(way: str) -> None:
    """C7: an LSTM has one for its dropout, which has no contents to be kept."""

    def seen(**options: Any) -> list[Any]:
        paddle.seed(3)
        net, best = paddle.nn.LSTM(2, 3), types.SimpleNamespace(ema=None)

        def history(x: Any, n: Any) -> Any:
            loss = net(x)[0].square().mean()
            best.ema = loss if best.ema is None else best.ema * 0.5 + loss
            return loss

        def loop(x: Any, n: Any) -> Any:
            y = net(x)[0]
            for _ in range(n):
                y = paddle.tanh(y * 1.5)
            return y.mean()

        def once(x: Any, n: Any) -> Any:
            return net(x)[0].square().mean()

        plain = {"a history": history, "a loop": loop, "retain_graph": once}[way]
        function = d2s.to_static(plain, **options) if options else plain
        found = []
        for scale in (1.0, -0.5, 2.0):
            loss = function(paddle.ones([2, 4, 2]) * scale, paddle.to_tensor(3))
            if way == "retain_graph":
                loss.backward(retain_graph=True)
            loss.backward()
            found.append(_now(loss, *(each.grad for each in net.parameters())))
            net.clear_gradients()
        return found

    _assert_close(seen(full_graph=True), seen())
