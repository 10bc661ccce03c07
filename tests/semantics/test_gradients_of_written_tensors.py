"""``set_value`` and ``copy_`` between a use of a tensor and ``backward()``, in one program."""

from __future__ import annotations

from typing import Any

import paddle
import pytest

import d2s
from d2s.errors import InplaceError
from tests.helpers import function_of

X = [[1.0, 1.0], [2.0, 1.0]]

PARAMETER = {
    "a product": "y = (w * w * w).sum()\nw.set_value(w * 10)\ny.backward()",
    "copy_": "y = (w * w).sum()\nw.copy_(w * 10, True)\ny.backward()",
    "a view": "y = (w[0] * w[1]).sum()\nw.set_value(w * 4)\ny.backward()",
    "a transpose": "y = (x @ w.t()).square().sum()\nw.set_value(w * 4)\ny.backward()",
    "it was new before": (
        "y = (w * w).sum()\nw.set_value(w * 2)\ny = y + (w * w).sum()\nw.set_value(w + 1)\n"
        "y.backward()"
    ),
    "in a branch": ("y = (w * w * w).sum()\nif x.sum() > 3:\n    w.set_value(w * 4)\ny.backward()"),
    "both in a branch": (
        "y = (w * w * w).sum()\nif x.sum() > 3:\n    w.set_value(w * 4)\n    y.backward()\n"
        "else:\n    w.set_value(w * 2)\n    (y * 2).backward()"
    ),
    "read in a loop": (
        "y = x * 1.0\nwhile y.abs().sum() < 500:\n    y = y * w\nw.set_value(w * 2)\n"
        "y.sum().backward()"
    ),
    "read in a branch in a loop": (
        "y = x * 1.0\nwhile y.abs().sum() < 500:\n    if y.sum() > 20:\n        y = y * w\n"
        "    else:\n        y = y * w * 2\nw.set_value(w * 2)\ny.sum().backward()"
    ),
    "in a loop": (
        "for _ in range(10):\n    y = (w * w * w).sum()\n    w.set_value(w * 0.5)\n"
        "    y.backward()\n    with paddle.no_grad():\n        w.set_value(w - 0.25 * w.grad)\n"
        "    w.clear_gradient()\n    if y < 1:\n        break"
    ),
    "the step of an optimizer": (
        "y = (w * w).sum()\ny.backward(retain_graph=True)\nopt.step()\nopt.clear_grad()\n"
        "y.backward()"
    ),
    "two losses": (
        "one, two = (w * w).sum(), (w * w * w).sum()\none.backward()\nopt.step()\n"
        "opt.clear_grad()\ntwo.backward()"
    ),
    "paddle.grad": (
        "y = (w * w * w).sum()\nw.set_value(w * 10)\n(g,) = paddle.grad(y, [w])\nreturn g"
    ),
    "paddle.grad of both": (
        "y = (w * w).sum()\nw.set_value(w * 2)\ny = y + (w * w * w).sum()\n"
        "(g,) = paddle.grad(y, [w])\nreturn g"
    ),
    "used before and after, in a branch": (
        "if x.sum() > 3:\n    y = (w * w).sum()\n    w.set_value(w * 2)\n"
        "    z = (w * w * w).sum()\n    (y + z).backward()"
    ),
    "used around a branch": (
        "y = (w * w).sum()\nif x.sum() > 3:\n    w.set_value(w * 2)\n"
        "    z = (w * w * w).sum()\n    (y + z).backward()"
    ),
    "written in a branch in it": (
        "y = (w * w).sum()\nif x.sum() > -100:\n    if x.sum() > 3:\n        w.set_value(w * 2)\n"
        "    z = (w * w * w).sum()\n    (y + z).backward()"
    ),
    "paddle.grad in a branch": (
        "g = None\nif x.sum() > 3:\n    y = (w * w).sum()\n    w.set_value(w * 2)\n"
        "    (g,) = paddle.grad(y + (w * w * w).sum(), [w])\nreturn g"
    ),
    "updates by hand in a loop": (
        "for _ in range(6):\n    (g,) = paddle.grad((w * w).sum(), [w])\n"
        "    with paddle.no_grad():\n        w.subtract_(0.125 * g)\n"
        "    if g.abs().sum() < 6:\n        break\nreturn g"
    ),
    "a gradient of a gradient": (
        "y = (w * w * w).sum()\n(g,) = paddle.grad(y, [w], create_graph=True)\n"
        "w.set_value(w * 2)\n(g * g).sum().backward()"
    ),
}
"""Of a parameter."""

OTHERS = {
    "a buffer": "y = (x @ w @ b.t()).sum()\nb.set_value(b * 2)\ny.backward()",
    "a factor": "y = ((x @ w) * b).sum()\nb.set_value(b * 2)\ny.backward()",
    "a row of it": "y = ((x @ w) * b[0]).sum()\nb.set_value(b * 2)\ny.backward()",
    "a detached one": "y = ((x @ w) * b.detach()).sum()\nb.set_value(b * 2)\ny.backward()",
    "each trip": (
        "for _ in range(3):\n    y = ((x @ w) * b).sum()\n    b.set_value(b * 2)\n"
        "    y.backward()\n    opt.step()\n    opt.clear_grad()"
    ),
    "each trip of a static loop": (
        "for _ in range(9):\n    y = ((x @ w) * b).sum()\n    b.set_value(b * 2)\n"
        "    y.backward()\n    opt.step()\n    opt.clear_grad()\n    if y > 1000:\n        break"
    ),
    "on one side": (
        "y = ((x @ w) * b).sum()\nif x.sum() > 3:\n    b.set_value(b * 4)\ny.backward()"
    ),
    "on both sides, and again": (
        "y = ((x @ w) * b).sum()\nif x.sum() > 3:\n    b.set_value(b * 4)\nelse:\n"
        "    b.set_value(b * 2)\ny = y + ((x @ w) * b).sum()\nif x.sum() > 2:\n"
        "    b.set_value(b + 1)\ny.backward()"
    ),
    "read on one side": (
        "y = x @ w\nif y.sum() > 0:\n    y = y @ b.t()\nelse:\n    y = y * b * 2\n"
        "b.set_value(b * 2)\ny.sum().backward()"
    ),
    "read in a static loop": (
        "y = x @ w\nwhile y.abs().sum() < 50:\n    y = y * b\nb.set_value(b * 2)\n"
        "y.sum().backward()"
    ),
    "backward in a branch": (
        "y = ((x @ w) * b).sum()\nb.set_value(b * 2)\nif y > 0:\n    y.backward()"
    ),
    "its own": "q = paddle.ones([2, 2])\ny = ((x @ w) * q).sum()\nq.set_value(b)\ny.backward()",
    "by two names": (
        "q = paddle.ones([2, 2])\np = q\ny = ((x @ w) * q).sum()\nq.set_value(b)\n"
        "p.set_value(p + 1)\ny.backward()\nreturn q, p"
    ),
    "an argument": "y = ((x @ w) * x).sum()\nx.set_value(x * 5)\ny.backward()",
    "with a history": (
        "h = x @ w\ny = (h * h).sum()\nh.set_value(paddle.ones([2, 2]))\n"
        "(y + (h * h * h).sum()).backward()"
    ),
    "what a gradient gives": (
        "h = (x * w).exp()\ny = (h * 2).sum()\nh.set_value(b)\ny.backward()\nreturn h"
    ),
    "before it is used": (
        "h = (x * w).exp()\nh.set_value(b)\ny = (h * h).sum()\ny.backward()\nreturn y.detach()"
    ),
    "paddle.grad of it": (
        "h = x @ w\ny = (h * h).sum()\nh.set_value(h * 2)\ny = y + (h * h).sum()\n"
        "(g,) = paddle.grad(y, [h])\nreturn g"
    ),
    "the norm of gradients": (
        "y = (w * w).sum()\ny.backward()\nnorm = (w.grad * w.grad).sum()\nif norm > 1:\n"
        "    w.grad.set_value(w.grad * 0.5)\nopt.step()\nopt.clear_grad()\n"
        "((x @ w) * 2).sum().backward()"
    ),
}
"""Of any other tensor."""


class Setting:
    """A parameter, a buffer and an optimizer, and what they are after each call."""

    def __init__(self, body: str, *, outside: bool = False, **options: Any) -> None:
        self.outside = outside
        self.w = paddle.create_parameter([2, 2], "float32")
        self.w.set_value(paddle.to_tensor([[2.0, 3.0], [1.0, -1.0]]))
        self.b = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]])
        opt = paddle.optimizer.SGD(0.125, parameters=[self.w])
        lines = "\n".join(f"    {line}" for line in body.split("\n"))
        function = function_of(f"def f(x):\n{lines}", w=self.w, b=self.b, opt=opt)
        self.function = d2s.to_static(function, **options) if options else function

    def seen(self) -> list[Any]:
        found: list[Any] = []
        for scale in (1.0, 0.5, 1.0, -1.0):
            x = paddle.to_tensor(X) * scale
            result = self.function(x)
            if self.outside:
                result.backward()
            found.append(str([result, self.w, self.w.grad, self.b, x]))
            if scale == 0.5:
                self.w.clear_gradient(False)
        return found


@pytest.mark.sampled(
    4,
    also=[
        "what a gradient gives-False",
        "copy_-False",
        "a gradient of a gradient-True",
        "the norm of gradients-False",
        "paddle.grad in a branch-True",
        "in a loop-False",
    ],
)
@pytest.mark.parametrize("full_graph", [True, False])
@pytest.mark.parametrize("body", [*PARAMETER.values(), *OTHERS.values()], ids=[*PARAMETER, *OTHERS])
def test_the_gradient_reads_the_new_contents(body: str, full_graph: bool) -> None:
    """C7, F3: dygraph keeps what a gradient reads by reference, and so it is in one program."""
    assert Setting(body, full_graph=full_graph).seen() == Setting(body).seen()


REFUSED = {
    "an alias without a history": (
        "h = x @ w\nq = h.detach()\ny = (h * h).sum()\nq.set_value(q * 3)\ny.backward()"
    ),
    "changed in another way, too": (
        "q = paddle.ones([2, 2])\ny = ((x @ w) * q).sum()\nq.set_value(b)\nq.add_(b)\ny.backward()"
    ),
    "a row is written": "y = ((x @ w) * b[0]).sum()\nrow = b[0]\nrow.set_value(b[1])\ny.backward()",
}
"""What a program cannot say, or an error in dygraph."""


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name: str) -> None:
    """C7, H1: the gradient would be another one; by default the line runs in dygraph."""
    with pytest.raises(InplaceError) as caught:
        Setting(REFUSED[name], full_graph=True).seen()
    assert caught.value.code == "D2S304"


OUTSIDE = {
    name: "\nreturn ".join(body.removesuffix(".backward()").rsplit("\n", 1))
    for name, body in {**PARAMETER, **OTHERS}.items()
    if body.endswith(".backward()") and body.count("backward") == 1 and "\n  " not in body[-30:]
}
"""Those whose ``backward()`` may as well stand outside of the function."""

NOT_IN_MEMORY = (
    *("it was new before", "read in a branch in a loop", "on both sides, and again", "its own"),
    "with a history",
)


@pytest.mark.parametrize("name", OUTSIDE)
def test_a_backward_outside_reads_them_too(name: str) -> None:
    """C7, D1: where the tensor is in memory, the gradient reads what is there; else refused."""
    static = Setting(OUTSIDE[name], outside=True, full_graph=True)
    if name in NOT_IN_MEMORY:
        with pytest.raises(InplaceError) as caught:
            static.seen()
        assert caught.value.code == "D2S304"
    else:
        assert static.seen() == Setting(OUTSIDE[name], outside=True).seen()


LATER = {
    "what a gradient gives": "h = (x @ w).tanh()\ny = (h * 2).sum()\nh.set_value(b)\nreturn y",
    "in a branch in a loop": (
        "y = x * 1.0\nwhile y.abs().sum() < 500:\n    if y.sum() > 20:\n        y = y * w\n"
        "    else:\n        y = y * w * 2\nw.set_value(w * 2)\nreturn y.sum()"
    ),
}
"""What a ``backward()`` outside of the function reads, behind the program."""


@pytest.mark.parametrize("name", LATER)
def test_a_backward_outside(name: str) -> None:
    """C7, H1: a program that is differentiated as a whole reads the old contents: refused."""
    with pytest.raises(InplaceError) as caught:
        Setting(LATER[name], full_graph=True).seen()
    assert caught.value.code == "D2S304"


LOOPS = {
    "a product": "h = x\nfor _ in range(n):\n    h = h * w + h * h\nreturn h.sum()",
    "a list": (
        "h, out = x, []\nfor _ in range(n):\n    h = paddle.tanh(h @ w + b)\n    out.append(h)\n"
        "return paddle.stack(out).sum()"
    ),
    "a branch": (
        "h = x * 1\nwhile (h * h).sum() < 500:\n    if h.sum() > 9:\n        h = h * w * 1.5\n"
        "    else:\n        h = h * b.abs() + w.abs()\nreturn h.sum()"
    ),
    "two results": (
        "h = x\nfor _ in range(n):\n    h = paddle.tanh(h @ w) * b\n"
        "return (h * w).sum(), h.detach()"
    ),
    "running statistics": (
        "h = x\nfor _ in range(n):\n    h = h * w * 0.5 + 1\nkept.append(float(h.sum()))\n"
        "return (h * b).sum()"
    ),
    "random numbers": (
        "h = x\nfor _ in range(n):\n    h = paddle.nn.functional.dropout(h, 0.0) * w\n"
        "return h.sum()"
    ),
}
"""Loops whose ``backward()`` stands outside; ``n`` is a tensor."""

WRITES = {
    "the step of an optimizer": "opt.step()",
    "set_value of a parameter": "w.set_value(w * 2)",
    "copy_ into a buffer": "b.copy_(b * 3, True)",
    "a count": "n.set_value(n * 0)",
    "nothing": "pass",
}


@pytest.mark.parametrize("recompute", [False, True])
@pytest.mark.parametrize("loop", LOOPS)
def test_a_write_between_a_loop_and_its_backward(loop: str, recompute: bool) -> None:
    """C7, F3: gradients read what a tensor has become, values are those of the call."""

    def seen(converted: bool) -> list[Any]:
        w = paddle.create_parameter([2, 2], "float32")
        w.set_value(paddle.to_tensor([[1.5, 0.5], [0.75, -1.0]]))
        b = paddle.to_tensor([[1.0, 2.0], [0.5, 0.25]])
        opt = paddle.optimizer.SGD(0.125, parameters=[w])
        names: dict[str, Any] = {"w": w, "b": b, "opt": opt, "kept": []}
        lines = "\n".join(f"    {line}" for line in LOOPS[loop].split("\n"))
        function = function_of(f"def f(x, n):\n{lines}", **names)
        if converted:
            function = d2s.to_static(function, full_graph=True)
        found: list[Any] = []
        for what, write in WRITES.items():
            x, n = paddle.to_tensor(X), paddle.to_tensor(3)
            x.stop_gradient = False
            (w * 0.25).sum().backward()
            result = function(x, n)
            loss = result[0] if isinstance(result, tuple) else result
            with paddle.no_grad():
                function_of(f"def g(x, n):\n    {write}", **names)(x, n)
            opt.clear_grad()
            loss.backward()
            found.append(f"{what}: {[result, w, w.grad, b, x, x.grad, n, names['kept']]}")
            w.set_value(paddle.to_tensor([[1.5, 0.5], [0.75, -1.0]]))
            b.set_value(paddle.to_tensor([[1.0, 2.0], [0.5, 0.25]]))
        return found

    with d2s.options(recompute=recompute):
        assert seen(True) == seen(False)
