"""C7, E1: what gradient hooks and the ``backward`` of a ``PyLayer`` change around them."""

from __future__ import annotations

from typing import Any

import paddle
import pytest

import d2s
from d2s.errors import UnsupportedInGraphError


def appends(seen: list[Any]) -> Any:
    def f(x: paddle.Tensor) -> paddle.Tensor:
        y = x * 2
        y.register_hook(lambda g: seen.append(g.numpy().tolist()))
        return (y * y).sum()

    return f


def method_of_a_list(seen: list[Any]) -> Any:
    def f(x: paddle.Tensor) -> paddle.Tensor:
        y = x * 2
        y.register_hook(seen.append)
        return (y * y).sum()

    return f


def attribute(seen: list[Any]) -> Any:
    class Net(paddle.nn.Layer):
        def forward(self, x: paddle.Tensor) -> paddle.Tensor:
            y = x * 2
            y.register_hook(self.keep)
            return (y * y).sum()

        def keep(self, gradient: paddle.Tensor) -> paddle.Tensor:
            self.last = gradient
            seen.append(self.last.sum().item())
            return gradient * 2

    return Net()


def py_layer(seen: list[Any]) -> Any:
    class Counted(paddle.autograd.PyLayer):
        @staticmethod
        def forward(ctx: Any, x: paddle.Tensor) -> paddle.Tensor:
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx: Any, gradient: paddle.Tensor) -> paddle.Tensor:
            (x,) = ctx.saved_tensor()
            seen.append(len(seen))
            return gradient * x

    def f(x: paddle.Tensor) -> paddle.Tensor:
        return Counted.apply(x * 1).sum()

    return f


PROGRAMS = [appends, method_of_a_list, attribute, py_layer]


def _plain(item: Any) -> Any:
    return item.tolist() if isinstance(item, paddle.Tensor) else item


@pytest.mark.parametrize("make", PROGRAMS)
@pytest.mark.filterwarnings("ignore::d2s.errors.BreakWarning")
def test_what_a_hook_changes_is_changed_on_each_backward(make: Any) -> None:
    """E1: in dygraph; no program does it, so the function is not one."""
    found = []
    for convert in (lambda f: f, lambda f: d2s.to_static(f, full_graph=False)):
        seen: list[Any] = []
        f = convert(make(seen))
        for number in (1.0, 2.0, 3.0):
            x = paddle.to_tensor([number, -1.0], stop_gradient=False)
            f(x).backward()
            seen.append(x.grad.tolist())
        found.append([*map(_plain, seen)])
    assert found[0] == found[1]


@pytest.mark.parametrize("make", PROGRAMS)
def test_a_program_refuses_what_a_hook_changes(make: Any) -> None:
    """E1: such a change would happen once, when the gradients are built; it is put back."""
    seen: list[Any] = []
    f = d2s.to_static(make(seen), full_graph=True)
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    with pytest.raises(UnsupportedInGraphError, match="which a run of the program would not do"):
        f(x).backward()
    assert seen == []
