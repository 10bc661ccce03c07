"""Minimised past failures, each named after what went wrong; none may come back."""

from __future__ import annotations

import gc

import paddle
import pytest

import d2s
from tests.helpers import assert_same, scalar, tensor

X = tensor(1.0, 2.0)
BOTH = (X, -X)


def test_a_parameter_rebound_before_an_early_return() -> None:
    """B1, B6: the other side saw the value that the first side had given to ``y``."""

    def f(x, y):
        if x.sum() < 0:
            y = y * 0.5
            return x - y
        return x + y

    assert_same(f, *[(x, X * 3) for x in BOTH])


def test_a_parameter_rebound_by_a_loop_after_an_early_return() -> None:
    """C2: ``NameError``, because the branch did not hand the parameter on to the loop inside."""

    def f(x):
        if x.max() < 0.01:
            return x
        while x.max() > 1:
            x = x * 0.5
        return x

    assert_same(f, *BOTH)


def test_tuples_from_both_sides() -> None:
    """B4: comparing the two tuples made operations in the wrong block."""

    def f(x):
        if x.sum() > 0:
            r = (x * 4, x * 3)
        else:
            r = (x * 2, x * 7)
        return r

    assert_same(f, *BOTH)


def test_a_branch_in_a_loop_that_reads_a_value_from_outside() -> None:
    """C7: the gradient counted one trip only, or was 0."""

    def f(x, n):
        s = x * 0
        for i in range(n):
            if i % 2 == 0:
                s = s + x * x
        return s

    assert_same(f, *[(X, scalar(n)) for n in (0, 1, 4)])


def test_a_loop_in_a_branch_behind_an_early_return() -> None:
    """C7: ``DenseTensor shouldn't be null`` in the backward."""

    def f(x, n):
        if x.sum() < 0:
            return x
        h = x * 0
        for _ in range(n):
            h = paddle.tanh(h + x)
        return h * x

    assert_same(f, *[(x, scalar(3)) for x in BOTH])


def test_a_branch_that_hands_on_nothing_beside_a_gradient() -> None:
    """C7: Paddle read saved values before they were back."""

    def f(x, y):
        k = 1
        if x.sum() > 0.37:
            if x.sum() > 0.37:
                w = 0
                while x.sum() > 0.37 and w < 1:
                    w = w + 1
                    k = 2
            x = x * 0.5
        return x + y * k * 0

    assert_same(f, *[(x, X) for x in BOTH])


def test_gradients_survive_the_capture_of_another_program() -> None:
    """F3: building a training program dropped the gradients of its parameters."""
    linear = paddle.nn.Linear(2, 2)

    @d2s.to_static
    def f(x, twice=False):
        return linear(x) * 2 if twice else linear(x)

    f(X, twice=True).sum().backward()
    before = linear.weight.grad.numpy().copy()
    f(X)
    assert linear.weight.grad is not None
    assert (linear.weight.grad.numpy() == before).all()


def test_a_range_bound_stays_a_tensor() -> None:
    """E1: ``range(n)`` made the argument ``n`` itself count as a Python number."""

    def f(x, n):
        for i in range(n):
            x = x + i
        return x, n + 0

    assert_same(f, (X, scalar(2)), grad=False)


def test_an_item_assigned_a_constant_has_no_gradient() -> None:
    """C7: Paddle's gradient went through the item that was overwritten."""

    def f(x):
        y = x * 3
        y[0] = 7.0
        return y

    assert_same(f, *BOTH)


def test_a_failed_capture_leaves_nothing_behind() -> None:
    """A later program got values of the failed one, and the process crashed."""
    weight = paddle.create_parameter([2], "float32")

    def fails(x):
        y = x * weight
        raise KeyError("no")
        return y

    def works(x):
        return x * weight

    for _ in range(20):
        with pytest.raises(KeyError):
            d2s.to_static(fails)(X)
        gc.collect()
        assert d2s.to_static(works)(X).shape == [2]


def test_text_in_front_of_a_branch_is_printed_first(capfd) -> None:
    """F1: the serial interpreter ran a later ``print`` before the branch."""

    @d2s.to_static
    def f(x):
        print("before")
        if x.sum() < 0:
            raise ValueError("no")
        print("after")
        return x

    f(X)
    with pytest.raises(ValueError, match="no"):
        f(-X)
    assert capfd.readouterr().out == "before\nafter\nbefore\n"


def test_a_value_used_before_between_and_in_two_loops() -> None:
    """C7: the first loop's accumulator began with one of several later gradients only."""

    def f(x, y):
        i = 0
        while i < 2:
            i = i + 1
            x = paddle.tanh(y) - x
            if y.sum() > 0.11 and y.sum() < 1.13:
                break
        x = y * 0.25 + x * 0.25
        i = 0
        while i < 2:
            i = i + 1
            if x.sum() > 0.37:
                y = x * 0.75
                break
            x = paddle.tanh(y) - x
        return x - y

    assert_same(f, (tensor(-1.5, 0.3), tensor(1.5, -0.7)), (X, X))
