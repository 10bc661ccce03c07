"""What training steps in a function do with gradients and optimizers (rules C7, F3, G2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import paddle
import pytest

import d2s
from d2s.errors import UnsupportedInGraphError
from tests.helpers import function_of, tensor

Make = Callable[[Any, Any], Any]


def sgd(w: Any, v: Any) -> Any:
    return paddle.optimizer.SGD(0.1, parameters=[w, v])


def clipped(w: Any, v: Any) -> Any:
    clip = paddle.nn.ClipGradByNorm(1.0)
    return paddle.optimizer.SGD(0.1, parameters=[w, v], grad_clip=clip)


def grouped(w: Any, v: Any) -> Any:
    groups = [{"params": [w]}, {"params": [v], "weight_decay": 0.5}]
    return paddle.optimizer.Momentum(0.1, parameters=groups)


def numbers(thing: Any) -> Any:
    """Tensors as lists of numbers."""
    if isinstance(thing, paddle.Tensor):
        return thing.astype("float32").tolist()
    if isinstance(thing, list | tuple):
        return [numbers(item) for item in thing]
    return thing


def made(text: str, make: Make) -> tuple[Any, Any, Any, Any]:
    """The function ``f(x)`` with this body, two parameters of ones and their optimizer."""
    one = paddle.nn.initializer.Constant(1.0)
    w, v = (paddle.create_parameter([2], "float32", attr=one) for _ in range(2))
    optimizer = make(w, v)
    lines = "".join(f"    {line}\n" for line in text.splitlines())
    scope = {"w": w, "v": v, "opt": optimizer}
    return function_of(f"def f(x):\n{lines}", "f", **scope), w, v, optimizer


def trained(
    text: str,
    make: Make = sgd,
    *,
    begun: bool = False,
    between: Callable[[Any, Any, Any], Any] | None = None,
) -> None:
    """Four calls, plain and converted: results, parameters and gradients are the same.

    Args:
        text: the body.
        make: makes the optimizer.
        begun: the parameter has a gradient before the first call.
        between: changes something before the third call, given the parameters and the optimizer.
    """
    seen: list[Any] = []
    for convert in (lambda function: function, d2s.to_static):
        function, w, v, optimizer = made(text, make)
        which = convert(function)
        if begun:
            (w * 3).sum().backward()
        for call in range(4):
            if call == 2 and between is not None:
                between(w, v, optimizer)
            x = tensor(1.0, 2.0 + call)
            result = which(x)
            seen.append(numbers([result, w, v, w.grad, v.grad, x.grad]))
    for plain, static in zip(seen[:4], seen[4:], strict=True):
        flat = [np.asarray(_flat(side), "float64") for side in (plain, static)]
        np.testing.assert_allclose(flat[1], flat[0], rtol=1e-5, equal_nan=True)


def _flat(thing: Any) -> list[float]:
    if isinstance(thing, list):
        return [float(len(thing)), *(number for item in thing for number in _flat(item))]
    return [float("nan") if thing is None else float(thing)]


LOSS = "loss = (w * x * x).sum()\nloss.backward()\n"


STEP = "opt.step()\nopt.clear_grad()\nreturn loss"


@pytest.mark.parametrize("begun", [False, True])
@pytest.mark.parametrize(
    "text",
    [
        "w.clear_gradient()\ng = w.grad\nreturn 0 if g is None else g * 1",
        LOSS + "w.grad = None\nreturn loss",
        "w.grad = None\n" + LOSS + "return loss, w.grad",
        LOSS + "g = w.grad\nw.clear_gradient()\nreturn g",
        "w.grad = x.sum().expand([2])\n" + LOSS + "return 0",
        LOSS + "w.clear_gradient(False)\nreturn w.grad is None",
    ],
)
def test_gradients_that_are_cleared_and_set(text: str, begun: bool) -> None:
    """F3: what is read, and what is there after the call."""
    trained(text, begun=begun)


@pytest.mark.parametrize(
    "text",
    [
        "y = w * x\ny.retain_grads()\ny.retain_grads()\n(y * y).sum().backward()\n"
        "return y.grad, y.is_leaf, w.is_leaf, x.is_leaf",
        "y = x * 1\ny.retain_grads()\nreturn y.is_leaf",
        "y = w * x\ny.sum().backward()\nreturn y.grad is None, x.grad is None",
        "t = paddle.zeros([2])\nt.stop_gradient = False\n(t * x).sum().backward()\nreturn t.grad",
        "paddle.autograd.backward([w * x, v * x], [x, None])\nreturn 0",
        "(x * 2).sum().backward()\nreturn x",
        "z = (v.detach() * x).sum()\npaddle.autograd.backward([(w * x).sum(), z])\nreturn z",
    ],
)
def test_where_gradients_arrive(text: str) -> None:
    """C7: at leaves, at what retains them, and nowhere else."""
    trained(text)


@pytest.mark.parametrize(
    "text",
    [
        "y = w * x\n(g,) = paddle.grad([y], [w], [x])\nreturn g",
        "y = w * x\n(g,) = paddle.grad([y * y], [w], [None])\nreturn g",
        "y = w * x\nreturn paddle.grad([y * v * w], [w], no_grad_vars=[v])",
        "y = w * x\nreturn paddle.grad(y * v * w, w, no_grad_vars=y, create_graph=True)",
        "a, b = paddle.grad([w * x], [w, v], allow_unused=True)\nreturn a, b is None",
        "if x.sum() > 0:\n    (g,) = paddle.grad((w * x).sum(), w)\nelse:\n    g = x\nreturn g",
        "if x.sum() > 0:\n    y = w * x\n    (g,) = paddle.grad((y * y).sum(), w, "
        "create_graph=True)\n    (g,) = paddle.grad(g.sum(), w)\nelse:\n    g = x\nreturn g",
        "if x.sum() > 0:\n    g, h = paddle.grad((w * x).sum(), [w, v], allow_unused=True)\n"
        "else:\n    g = h = None\nreturn g if h is None else h",
    ],
)
def test_gradients_that_are_asked_for(text: str) -> None:
    """C7: with weights, without some tensors, of gradients, in a branch."""
    trained(text)


@pytest.mark.parametrize(
    "clip",
    [
        "clip_grad_norm_([w, v], 0.5)",
        "clip_grad_norm_([w, v], 0.5, float('inf'))",
        "clip_grad_norm_(w, 0.5, 1.0)",
        "clip_grad_norm_([v], 0.5)",
        "clip_grad_value_([w, v], 0.5)",
        "clip_grad_value_(w, 0.5)",
    ],
)
def test_gradients_are_clipped_by_hand(clip: str) -> None:
    """C7: parameters without a gradient are left out."""
    trained(f"{LOSS}n = paddle.nn.utils.{clip}\n{STEP}, 0 if n is None else n")


@pytest.mark.parametrize(
    ("make", "between"),
    [
        (clipped, lambda w, v, opt: setattr(opt, "_grad_clip", None)),
        (clipped, lambda w, v, opt: setattr(opt, "_grad_clip", paddle.nn.ClipGradByNorm(0.1))),
        (clipped, lambda w, v, opt: setattr(opt._grad_clip, "clip_norm", 0.1)),
        (sgd, lambda w, v, opt: opt._param_groups.pop(0)),
        (sgd, lambda w, v, opt: opt._param_groups.reverse()),
        (sgd, lambda w, v, opt: setattr(w, "stop_gradient", True)),
        (grouped, lambda w, v, opt: setattr(opt, "_momentum", 0.0)),
    ],
)
def test_the_optimizer_is_changed_between_the_calls(make: Make, between: Any) -> None:
    """G2: a captured step is not used for another optimizer."""
    trained("loss = (w * x * x).sum() + v.sum()\nloss.backward()\n" + STEP, make, between=between)


def test_parameters_that_are_written() -> None:
    """F3: the next operation, and the next call, read what was written."""
    trained("with paddle.no_grad():\n    w.set_value(w * x)\n    v[:] = x.sum()\nreturn w * v")


class OwnClip(paddle.nn.ClipGradByNorm):
    """A way of clipping that nobody but the user knows."""


def own(w: Any, v: Any) -> Any:
    return paddle.optimizer.SGD(0.1, parameters=[w, v], grad_clip=OwnClip(1.0))


DECAYS = [0.5]
"""What a scheduler's function reads, and is no constant."""


def scheduled(w: Any, v: Any) -> Any:
    rate = paddle.optimizer.lr.LambdaDecay(0.5, lambda epoch: DECAYS[0] ** epoch)
    return paddle.optimizer.SGD(rate, parameters=[w, v])


@pytest.mark.parametrize(
    ("make", "text", "words", "line"),
    [
        (own, LOSS + STEP, "SGD clips gradients in a way of its own", 4),
        (
            sgd,
            LOSS + "return paddle.nn.utils.clip_grad_norm_(w, 1.0, error_if_nonfinite=True)",
            "error_if_nonfinite asks for the norm",
            4,
        ),
        (
            scheduled,
            LOSS + "opt._learning_rate.step()\nreturn opt.get_lr()",
            "the learning rate of SGD is used after a step of its scheduler",
            5,
        ),
        (
            scheduled,
            LOSS + "opt._learning_rate.step()\nopt.step()",
            "the learning rate of SGD is used after a step of its scheduler",
            5,
        ),
        (
            sgd,
            "scaler = paddle.amp.GradScaler(enable=True)\nreturn scaler.scale(x.sum())",
            "a GradScaler leaves out the step",
            3,
        ),
    ],
)
def test_what_no_program_can_train(make: Make, text: str, words: str, line: int) -> None:
    """F3: refused at its line."""
    function, *_ = made(text, make)
    with pytest.raises(UnsupportedInGraphError, match=words) as caught:
        d2s.to_static(function)(tensor(1.0, 2.0))
    assert f":{line}: " in str(caught.value)
