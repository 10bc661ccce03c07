"""What changes a tensor in place is seen under every name of it, or refused (row 88)."""

from __future__ import annotations

import paddle
import paddle.nn.functional as F
import pytest
from paddle import nn

import d2s
from d2s.errors import InplaceError
from tests.helpers import assert_same, tensor

PLUS, MINUS = tensor(1.0, 2.0), tensor(-1.0, -2.0)
BOTH = (PLUS, MINUS)


def test_every_name_sees_the_change() -> None:
    """F3: variables, items of a list and a dict, attributes."""

    class Box:
        pass

    def f(x):
        y = x * 2
        z, parts, table, box = y, [y], {"k": y}, Box()
        box.h = y
        y.add_(x)
        return y, z, parts[0], table["k"], box.h

    assert_same(f, *BOTH)


def test_a_chain_returns_the_tensor() -> None:
    """E1: the method gives the tensor itself."""

    def f(x):
        y = x * 1
        z = y.scale_(2.0).clip_(-1.0, 3.0)
        return y, z, z is y

    assert_same(f, *BOTH)


def test_functions_that_end_in_an_underscore() -> None:
    """E1: of paddle and of paddle.nn.functional."""

    def f(x):
        y, z = x * 2, x + 1
        F.relu_(y)
        paddle.tanh_(z)
        return y, z

    assert_same(f, *BOTH)


def test_an_argument_changes_for_the_caller() -> None:
    """A1: as in dygraph, on each run."""

    @d2s.to_static
    def f(total, x):
        total.add_(x)
        return total * 2

    total = paddle.zeros([2])
    for count in (1, 2, 3):
        result = f(total, PLUS)
        assert total.tolist() == [1.0 * count, 2.0 * count]
        assert result.tolist() == [2.0 * count, 4.0 * count]


def test_buffers() -> None:
    """F3: add_, set_value and an item assignment, in a branch too."""

    class Net(nn.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("mean", paddle.zeros([2]))

        def forward(self, x):
            with paddle.no_grad():
                self.mean.add_(x)
                self.mean[0] = 7.0
                if x.sum() < 0:
                    self.mean.set_value(x)
            return x + self.mean

    mine, theirs = Net(), Net()
    d2s.to_static(mine)
    for x in (PLUS, MINUS, PLUS, PLUS):
        assert mine(x).tolist() == theirs(x).tolist()
        assert mine.mean.tolist() == theirs.mean.tolist()


def test_in_branches_and_loops() -> None:
    """B4, C2: a name that the branch or loop hands on."""

    def f(x):
        y = x * 2
        if x.sum() > 0:
            y.add_(x)
        else:
            y.scale_(3.0)
        for _ in range(paddle.to_tensor(2)):
            y.multiply_(x)
        return y

    assert_same(f, *BOTH)


def test_a_name_outside_of_a_loop_is_refused_or_right() -> None:
    """Never silent: the other name of the tensor would keep the old contents."""

    def f(x):
        y = x * 2
        z = y
        for _ in range(paddle.to_tensor(2)):
            y.add_(x)
        return y, z

    with pytest.raises(InplaceError, match="'z'") as caught:
        d2s.to_static(f)(PLUS)
    assert caught.value.line == f.__code__.co_firstlineno + 4
    assert caught.value.cure


def test_a_helper_changes_its_argument() -> None:
    """A1: the caller's variable is the same tensor."""

    def bump(t):
        t.add_(paddle.ones_like(t))

    def f(x):
        y = x * 2
        bump(y)
        y[0] = 5.0
        return y

    assert_same(f, *BOTH)


def test_random_fills_are_refused() -> None:
    """F5: Paddle has no form of them without a place."""

    def f(x):
        y = x * 2
        y.uniform_()
        return y

    with pytest.raises(InplaceError, match="uniform_"):
        d2s.to_static(f)(PLUS)


def test_a_detached_tensor_does_not_overwrite_the_argument() -> None:
    """Paddle 3.3.1 works in place on storage that detach() shares."""

    def f(x):
        return x.detach() * 2 + 0 * x

    given = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    assert d2s.to_static(f)(given).tolist() == [2.0, 4.0]
    assert given.tolist() == [1.0, 2.0]
