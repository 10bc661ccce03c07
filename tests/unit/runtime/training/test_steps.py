"""Training in a program: what is renewed, scheduled and refused (rules F3, G2)."""

from __future__ import annotations

import threading
from typing import Any

import paddle

import d2s
from tests.helpers import tensor


def test_an_argument_that_changes_without_gradient() -> None:
    """C7: it stays the leaf at which the gradient arrives."""

    def f(x):
        with paddle.no_grad():
            x.add_(paddle.ones([2]))
        loss = (x * x).sum()
        loss.backward()
        return loss, x.grad

    seen = []
    for which in (f, d2s.to_static(f)):
        for _ in range(2):
            x = tensor(1.0, 2.0)
            x.stop_gradient = False
            loss, grad = which(x)
            seen.append((loss.item(), grad.tolist(), x.tolist(), x.grad.tolist()))
    assert seen[:2] == seen[2:]


def test_a_schedule_goes_on_with_every_run() -> None:
    """F3: not at capture."""

    def trained(convert: Any) -> list[Any]:
        rate = paddle.optimizer.lr.StepDecay(0.5, step_size=1, gamma=0.5)
        weight = paddle.create_parameter([2], "float32", attr=paddle.nn.initializer.Constant(1.0))
        optimizer = paddle.optimizer.SGD(rate, parameters=[weight])

        def step(x):
            loss = (weight * x).sum()
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
            rate.step()
            return loss

        which = convert(step)
        return [
            (which(tensor(1.0, 2.0)).item(), rate.last_epoch, rate(), weight.tolist())
            for _ in range(4)
        ]

    assert trained(d2s.to_static) == trained(lambda function: function)


def test_a_schedule_of_another_thread() -> None:
    """G4: during a capture, it is stepped at once, and as it was asked to be."""
    rate = paddle.optimizer.lr.StepDecay(0.5, step_size=1, gamma=0.5)
    seen: list[int] = []

    def work() -> None:
        rate.step(3)
        seen.append(rate.last_epoch)

    @d2s.not_to_static
    def beside() -> None:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join(30)

    def f(x):
        beside()
        return x * 2

    assert d2s.to_static(f)(tensor(1.0)).tolist() == [2.0]
    assert seen == [3]
