"""``assign`` into a tensor, ``set_value`` and ``copy_``: whose gradient it is afterwards."""

from __future__ import annotations

from typing import Any

import paddle
import pytest

import d2s
from d2s.errors import InplaceError
from tests.helpers import function_of

BODIES = {
    "assign": "paddle.assign(y, z)",
    "assign by name": "paddle.assign(y, output=z)",
    "assign, its result": "z = paddle.assign(y, z)",
    "assign, of a list": "paddle.assign(np.array([5.0, 6.0], 'float32'), z)",
    "set_value": "z.set_value(y)",
    "set_value of an array": "z.set_value(np.array([5.0, 6.0], 'float32'))",
    "set_value gives nothing": "z = z if z.set_value(y) is None else z * 100",
    "copy_": "z.copy_(y, True)",
    "in a branch": "paddle.assign(y, z) if x.sum() > 0 else None",
    "under no_grad": "with paddle.no_grad(): z.set_value(y)",
}

MADE = ["x * x", "paddle.zeros([2])", "x * 1", "y.detach() * 3"]


def outcome(function: Any, sign: float) -> list[Any]:
    x = paddle.to_tensor([1.0 * sign, 2.0], stop_gradient=False)
    y = paddle.to_tensor([3.0, 4.0], stop_gradient=False)
    result = function(x, y)
    seen: list[Any] = [result.tolist(), result.stop_gradient]
    if not result.stop_gradient:
        result.sum().backward()
    for leaf in (x, y):  # zero is like none
        found = leaf.grad is not None and bool(leaf.grad.any())
        seen.append(leaf.grad.tolist() if found else None)
    return seen


@pytest.mark.parametrize("made", MADE)
@pytest.mark.parametrize("name", BODIES)
def test_values_and_gradients(name: str, made: str) -> None:
    """C1, D1: ``assign`` hands gradients on; the others leave the history of the tensor."""
    import numpy as np

    text = f"def f(x, y):\n    z = {made}\n    {BODIES[name]}\n    return z * z * x"
    function = function_of(text, np=np)
    static = d2s.to_static(function)
    for sign in (1.0, 1.0, -5.0):
        assert outcome(static, sign) == outcome(function, sign)


def test_other_names_see_it() -> None:
    """C1: every name of the tensor, and the caller of an argument."""
    text = """
    def f(x, y):
        z = x * 2
        held = [z]
        paddle.assign(y, z)
        paddle.assign(y + 1, x)
        return held[0] + z, x
    """
    function = function_of(text)
    seen = []
    for each in (function, d2s.to_static(function)):
        x, y = paddle.to_tensor([1.0, 2.0]), paddle.to_tensor([3.0, 4.0])
        seen.append([*(found.tolist() for found in each(x, y)), x.tolist()])
    assert seen[0] == seen[1]


def test_in_a_static_loop() -> None:
    """B2: a variable of the loop; a history that would stay is refused."""
    text = """
    def f(x, n):
        z = paddle.zeros([2])
        for i in range(n):
            paddle.assign(z + x, z)
        return z
    """
    function = function_of(text)
    static = d2s.to_static(function)
    for n in (3, 0, 1):
        given = paddle.to_tensor([1.0, 2.0]), paddle.to_tensor(n)
        assert static(*given).tolist() == function(*given).tolist()
    x = paddle.to_tensor([1.0, 2.0], stop_gradient=False)
    text = text.replace("paddle.zeros([2])", "x * 2")
    refused = d2s.to_static(function_of(text.replace("paddle.assign(z + x, z)", "z.set_value(x)")))
    with pytest.raises(InplaceError) as caught:
        refused(x, paddle.to_tensor(3))
    assert caught.value.code == "D2S304"


def test_another_shape_is_refused() -> None:
    """C1: the tensor would take the shape of what is assigned."""
    static = d2s.to_static(function_of("def f(x): return paddle.assign(x[:1], x)"))
    with pytest.raises(InplaceError):
        static(paddle.to_tensor([1.0, 2.0]))


READ = {
    "a product": "(q * z).sum()",
    "an exponent": "(q**z).sum()",
    "a larger one": "paddle.maximum(q, z).sum()",
    "a distance": "F.kl_div(q, z)",
    "labels": "F.cross_entropy(q, z, soft_label=True)",
    "an einsum": "paddle.einsum('ij,jk->ik', q, z).sum()",
    "a quotient": "(q / z).sum()",
    "a transpose": "(q @ z.t()).sum()",
    "a part": "(q[0] * z[1]).sum()",
    "a reshape": "(q.flatten() * z.flatten()).sum()",
    "rows": "sum((q[0] * row).sum() for row in z)",
    "unbind": "(q[0] * z.unbind()[1]).sum()",
    "a diagonal": "(q[0] * z.diagonal()).sum()",
    "a detached one": "(q * z.detach()).sum()",
    "a view of a view": "(q[0] * z.t()[0]).sum()",
    "on one side": "(q @ z.t()).sum() if q.sum() > 0 else q.sum()",
    "a sum": "(q + z).sum()",
    "a copy": "(q * z.clone()).sum()",
    "stacked": "(paddle.stack([q, q]) * paddle.stack([z, z])).sum()",
    "picked rows": "(q * z[paddle.to_tensor([1, 0])]).sum()",
    "a condition's values": "paddle.where(q > 1, q, z).sum()",
    "the dividend": "(z / q).sum()",
}
"""What is computed with ``z`` before it is written."""


def matrices() -> tuple[paddle.Tensor, paddle.Tensor, paddle.Tensor]:
    """What has a gradient, what is written, and with what."""
    return (
        paddle.to_tensor([[1.2, 2.1], [3.3, 0.7]], stop_gradient=False),
        paddle.to_tensor([[1.0, 2.0], [3.0, 5.0]]),
        paddle.to_tensor([[4.0, 1.5], [0.3, 2.0]]),
    )


@pytest.mark.parametrize("how", ["z.set_value(new)", "z.copy_(new, False)"])
@pytest.mark.parametrize("name", READ)
def test_what_a_gradient_reads(name: str, how: str) -> None:
    """C7: dygraph's gradient reads what was written, and so does that of one program.

    What it is not known to be a view for is refused.
    """
    text = (
        f"def f(q, z, new):\n    y = {READ[name]}\n    with paddle.no_grad(): {how}\n    return y"
    )
    function = function_of(text, F=paddle.nn.functional)
    found: list[Any] = []
    for each in (function, d2s.to_static(function, full_graph=True)):
        q, z, new = matrices()
        try:
            y = each(q, z, new)
        except InplaceError as error:
            found.append(error.code)
        else:
            y.backward()
            found.append([y.tolist(), q.grad.tolist(), z.tolist()])
    assert found[1] == ("D2S304" if name in ("unbind", "a diagonal") else found[0])


@pytest.mark.parametrize("name", ["a product", "a transpose", "a detached one", "on one side"])
def test_a_gradient_of_a_tensor_of_the_state(name: str) -> None:
    """C7, F2: a queue or memory of a layer; also where later calls have written it again."""
    text = f"""
    def f(q, new):
        y = {READ[name]}
        z.set_value(z * 0.5 + new)
        return y, q.sum()
    """
    found: list[Any] = []
    for convert in (lambda f: f, lambda f: d2s.to_static(f, full_graph=True)):
        q, z, new = matrices()
        step = convert(function_of(text, z=z))
        waiting = []
        seen: list[Any] = []
        for number in range(5):
            y, total = step(q, new)
            waiting.append(y if number < 3 else y + total)
            if number:
                waiting.pop(0).backward()
                seen += [y.tolist(), q.grad.tolist(), z.tolist()]
        total.backward()
        found.append([*seen, q.grad.tolist()])
    assert found[1] == found[0]


WRITTEN = {
    "a gradient goes nowhere": (
        "index = (q * z).argmin()\n    z.set_value(new)\n    return q.sum() + index"
    ),
    "it has gone": (
        "g = paddle.grad((q * z).sum(), [q])[0]\n    z.set_value(new)\n    return (q * g).sum()"
    ),
    "it goes behind": (
        "y = (q * z).sum()\n    z.set_value(new)\n    return (q * paddle.grad(y, [q])[0]).sum()"
    ),
    "in a branch": (
        "y = (q * z).sum()\n    if q.sum() > 0:\n        z.set_value(new)\n    return y"
    ),
    "read in a branch": (
        "y = q.sum()\n    if q.sum() > 0:\n        y = (q * z).sum()\n    z.set_value(new)\n"
        "    return y"
    ),
    "read in a loop": (
        "y = q.sum()\n    while y < 30:\n        y = y + (q * z).sum()\n    z.set_value(new)\n"
        "    return y"
    ),
    "read behind one, too": (
        "z.set_value(new + 1)\n    y = (q * z).sum()\n    z.set_value(new)\n"
        "    y = y + (q * z).exp().sum()\n"
        "    z.set_value(z * 0.5)\n    return y"
    ),
    "two times": "y = (q * z).sum()\n    z.set_value(new)\n    z.set_value(new)\n    return y",
}
"""Where the gradient goes, and where it is written."""


BETWEEN = {
    "written in a loop": (
        "y = q.sum()\n    while y < 30:\n        y = y + (q * z).sum()\n        z.set_value(new)"
    ),
    "made by the function": "z = z * 1\n    y = (q * z).sum()",
}
"""What is read has no place in memory that a later gradient could find."""


@pytest.mark.parametrize("full_graph", [True, False])
@pytest.mark.parametrize("name", [*WRITTEN, *BETWEEN])
def test_where_the_gradient_goes(name: str, full_graph: bool) -> None:
    """C7, H1: refused where the new contents are not in memory; by default dygraph runs it."""
    text = WRITTEN.get(name) or f"{BETWEEN[name]}\n    z.set_value(new)\n    return y"
    function = function_of(f"def f(q, z, new):\n    {text}")
    found: list[Any] = []
    for each in (function, d2s.to_static(function, full_graph=full_graph)):
        q, z, new = matrices()
        try:
            y = each(q, z, new)
        except InplaceError as error:
            found.append(error.code)
        else:
            y.backward()
            found.append([y.tolist(), q.grad.numpy().round(4).tolist(), z.tolist()])
    assert found[1] == ("D2S304" if full_graph and name in BETWEEN else found[0])
