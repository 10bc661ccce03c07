"""C7: what a run has not used has no gradient on it, whatever its derivative would be.

A program goes back through all of it, with zeros; zero times infinity was in the gradient.
"""

from __future__ import annotations

import textwrap
from typing import Any

import numpy as np
import paddle
import pytest

import d2s
from tests.helpers import function_of

VALUES = [(1.0, 2.0), (-1.0, 0.0), (0.0, 4.0), (3.0, float("nan")), (float("inf"), 1.0)]

BODIES = {
    "one side": """
        v = x.log()
        return v if (x > 0).all() else x * 2
    """,
    "skipped by continue": """
        total = x.sum()
        for k in range(2):
            v = (x / k if k else x / x).sum()
            if not paddle.isfinite(v):
                continue
            total = total + v
        return total
    """,
    "several, one after the other": """
        total = x
        for v in (x.log(), x.sqrt(), 1 / x):
            if paddle.isfinite(v).all():
                total = total + v
        return total
    """,
    "one read by two branches": """
        v = paddle.sqrt(x)
        u = v.exp()
        y = x * 1
        if x.min() > 0:
            y = y + v
        if x.max() > 3:
            y = y * u
        return y
    """,
    "a branch behind a branch": """
        v = x.sqrt()
        w = v if x.min() > 0 else x * 3
        z = w.log()
        return z if w.min() > 1 else x * w.detach()
    """,
    "made and used in a branch": """
        y = x * 1
        if x.max() > 1:
            v = x.log()
            if x.min() > 0:
                y = y + v
        return y
    """,
    "a loop of no trips": """
        y, v, n = x, x.log(), 0
        while n < (x > 0).astype("int32").sum() - 1:
            y = y + v
            n = n + 1
        return y
    """,
    "early return": """
        v = x.log()
        if not paddle.isfinite(v).all():
            return x * 0.5
        return v.sqrt() * 2 if v.min() > 0 else v
    """,
    "left by break": """
        y = x * 1
        for k in range(3):
            v = (x - k).log()
            if not paddle.isfinite(v).all():
                break
            y = y + v
        return y
    """,
    "raised and handled": """
        v, y = x.log(), x * 1
        try:
            if not paddle.isfinite(v).all():
                raise ValueError("not finite")
            y = y + v
        except ValueError:
            y = y * 2
        return y
    """,
    "a callee": """
        def added(total, v):
            return total + v if paddle.isfinite(v) else total

        total = x.sum()
        for v in (x.log().sum(), (1 / x).sum(), x.sqrt().sum()):
            total = added(total, v)
        return total
    """,
}


def function(body: str) -> Any:
    return function_of(f"def f(x):\n{textwrap.indent(textwrap.dedent(body), '    ')}")


def gradient_of(f: Any, values: tuple[float, ...]) -> np.ndarray:
    x = paddle.to_tensor(values)
    x.stop_gradient = False
    f(x).sum().backward()
    return x.grad.numpy()


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_what_a_branch_leaves_out(body: str) -> None:
    """C7: of the arguments, where the loss is outside of the program."""
    static = d2s.to_static(function(body), full_graph=True)
    for values in VALUES:
        want = gradient_of(function(body), values)
        np.testing.assert_allclose(gradient_of(static, values), want, rtol=1e-5)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_in_a_training_step(body: str) -> None:
    """C7: by ``paddle.grad`` in the program, also where another gradient is to come."""

    def step(loss: Any, again: bool) -> Any:
        def f(x: Any) -> Any:
            out = loss(x).sum()
            (gradient,) = paddle.grad(out, [x], create_graph=again)
            return gradient * 2

        return f

    for again in (False, True):
        static = d2s.to_static(step(function(body), again), full_graph=True)
        for values in VALUES:
            x = paddle.to_tensor(values)
            x.stop_gradient = False
            want = step(function(body), again)(x)
            np.testing.assert_allclose(static(x).numpy(), want.numpy(), rtol=1e-5)


def test_of_a_gradient() -> None:
    """C7: a second one goes through what was no part of the first."""

    def f(x: Any) -> Any:
        total, v = (x**3).sum(), x.log().sum()
        if paddle.isfinite(v):
            total = total + v
        (first,) = paddle.grad(total, [x], create_graph=True)
        (second,) = paddle.grad(first.sum(), [x])
        return first, second

    static = d2s.to_static(f, full_graph=True)
    for values in VALUES:
        x = paddle.to_tensor(values)
        x.stop_gradient = False
        for got, want in zip(static(x), f(x), strict=True):
            np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-5)


def test_of_parameters() -> None:
    """C7, F3: a loss that is not finite leaves nothing in the parameters."""

    def make() -> tuple[Any, Any]:
        layer = paddle.nn.Linear(2, 2)
        layer.weight.set_value(paddle.to_tensor([[1.0, 2.0], [0.5, -1.0]]))
        sgd = paddle.optimizer.SGD(0.1, parameters=layer.parameters())

        def step(x: Any, target: Any) -> Any:
            out = layer(x)
            total = (out**2).mean()
            for loss in ((out - target) ** 2, out.exp() * target):
                if not paddle.isfinite(loss.mean()):
                    continue
                total = total + loss.mean()
            total.backward()
            sgd.step()
            sgd.clear_grad()
            return total

        return layer, step

    (plain, step), (layer, other) = make(), make()
    static = d2s.to_static(other, full_graph=True)
    for bad in (1.0, float("nan"), float("inf"), 2.0):
        x, target = paddle.to_tensor([[1.0, 2.0]]), paddle.to_tensor([[bad, 0.5]])
        assert static(x, target).item() == pytest.approx(step(x, target).item(), rel=1e-5)
        np.testing.assert_allclose(layer.weight.numpy(), plain.weight.numpy(), rtol=1e-5)
