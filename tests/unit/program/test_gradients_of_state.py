"""Gradients of arguments and of the state, read, set and switched on (rules C7, F3)."""

from __future__ import annotations

from typing import Any

import paddle
import pytest

import d2s
from d2s.errors import UnsupportedInGraphError
from tests.helpers import tensor


def changed_buffer(x: Any, b: Any) -> Any:
    b.add_(x.detach())
    y = b * x
    return y * y


def changed_result(x: Any, b: Any) -> Any:
    b.add_(x)
    return b * x


@pytest.mark.parametrize("function", [changed_buffer, changed_result])
def test_an_argument_that_changes_in_place_while_another_is_trained(function: Any) -> None:
    """C7: the backward sees what was there in the forward part; the caller sees the change."""
    found = []
    for call in (function, d2s.to_static(function)):
        x, start = tensor(1.0, 2.0), tensor(3.0, 4.0)
        x.stop_gradient = False
        start.stop_gradient = function is changed_buffer
        b = start * 2
        y = call(x, b)
        (y * tensor(1.0, 3.0)).sum().backward()
        gradient = None if start.grad is None else start.grad.tolist()
        found.append((y.tolist(), b.tolist(), x.grad.tolist(), gradient))
    assert found[0] == found[1]
    assert (found[0][3] is None) is (function is changed_buffer)


def test_a_tensor_whose_gradient_the_function_switches_on() -> None:
    """C7: an argument that took none before the call has one after it."""

    def f(x):
        x.stop_gradient = False
        y = (x * x).sum()
        y.backward()
        return y

    found = []
    for call in (f, d2s.to_static(f)):
        x = tensor(1.0, 2.0)
        found.append((call(x).item(), x.stop_gradient, x.grad.tolist()))
    assert found[0] == found[1]


def test_an_argument_whose_gradient_is_read_comes_without_one() -> None:
    """C7: one that has a gradient already is refused, for the program computes its own only."""

    def f(x):
        y = (x * x).sum()
        y.backward()
        return x.grad * 1

    x = tensor(1.0, 2.0)
    x.stop_gradient = False
    static = d2s.to_static(f)
    assert static(x).tolist() == [2.0, 4.0]
    with pytest.raises(UnsupportedInGraphError, match="has a gradient already") as caught:
        static(x)
    assert ".grad to None" in str(caught.value.cure)
    x.grad = None  # as the message says
    assert static(x).tolist() == [2.0, 4.0]
    other = tensor(1.0, 3.0)
    other.stop_gradient = False
    assert static(other).tolist() == [2.0, 6.0]


def test_the_gradient_of_a_frozen_tensor_is_set_and_read() -> None:
    """C7: the call that captures read what was there before it."""
    weight = tensor(1.0, 2.0)

    def f(x):
        weight.grad = x * 2
        return weight.grad + 1

    static = d2s.to_static(f)
    for factor in (1.0, 0.0, 3.0):
        weight.grad = None
        assert static(tensor(1.0, 2.0) * factor).tolist() == [2 * factor + 1, 4 * factor + 1]
        assert weight.grad.tolist() == [2 * factor, 4 * factor]


def test_the_gradient_of_a_computed_tensor_is_set() -> None:
    """E2: it was lost in silence; that it has none is no news."""

    def f(x):
        y = x * 2
        y.grad = x
        return y

    def g(x):
        y = x * 2
        y.grad = None
        return y.grad is None, y

    assert d2s.to_static(g)(paddle.to_tensor([1.0, 2.0]))[0] is True

    with pytest.raises(UnsupportedInGraphError, match="has computed itself") as caught:
        d2s.to_static(f)(tensor(1.0, 2.0))
    assert (caught.value.code, caught.value.line) == ("D2S205", f.__code__.co_firstlineno + 2)
