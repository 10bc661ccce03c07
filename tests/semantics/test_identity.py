"""A tensor that a function changes in place stays the tensor that others know (rules A1, F3)."""

from __future__ import annotations

from typing import Any

import paddle
import pytest

import d2s
from d2s.errors import InplaceError
from tests.helpers import function_of, scalar, tensor

BODIES = {
    "buffer": "self.b.add_(x.detach()); return x * self.b",
    "twice": "self.b.scale_(0.5); self.b.add_(x.detach()); return x + self.b",
    "attribute in a list": "self.l[0].add_(x.detach()); return x * self.l[0]",
    "both sides": "if x.sum() > 0:\n    self.b.add_(x.detach())\nelse:\n    self.b.scale_(2.0)\n"
    "return x * self.b",
    "one side": "if x.sum() > 0:\n    self.b.zero_()\nreturn x * 1",
    "loop": "for i in range(n):\n    self.b.add_(x.detach())\nreturn x * self.b",
    "branch in a loop": "i = paddle.zeros([], 'int64')\nwhile i < n:\n    if x.sum() > i:\n"
    "        self.b.add_(x.detach())\n    i = i + 1\nreturn x * self.b",
    "view": "v = self.b[0]; v.add_(paddle.ones([])); return x * self.b",
    "item": "self.b[0] = 3.0; self.l[0][1] = 2.0; return x * self.b + self.l[0]",
    "item of an attribute": "self.l[0][0] += 1; self.b[i0] *= 2; return x * self.b + self.l[0]",
    "another name": "self.c = self.b; self.b.add_(x.detach()); return x * self.c",
    "returned": "self.b.add_(x.detach()); return self.b",
    "replaced afterwards": "self.b.add_(x.detach()); self.b = self.b * 2; return x * self.b",
    "before an exception": "self.b.add_(x.detach())\nassert x.sum() > 0, 'no'\nreturn x * self.b",
    "global": "G.add_(x.detach()); return x * G",
    "item of a global": "G[0] = 5.0; D['k'][1] += 2; return x * G + D['k']",
    "in a global dict": "D['k'].add_(x.detach()); return x * D['k']",
    "parameter": "with paddle.no_grad():\n    self.w.add_(x)\nreturn x.detach() * 2",
    "parameter set": "with paddle.no_grad():\n    self.w.set_value(self.w + x)\nreturn x.detach()",
    "parameter by name": "w = self.w\nwith paddle.no_grad():\n    w.scale_(2.0)\n"
    "return x.detach() + w.detach()",
}


def model(body: str) -> tuple[Any, list[Any], Any]:
    """A layer, the tensors that others know, and what tells which it knows itself."""
    scope: dict[str, Any] = {"i0": 0, "n": scalar(3)}
    scope["G"], scope["D"] = tensor(1.0, 2.0), {"k": tensor(0.0, 1.0)}
    lines = "\n".join(f"    {line}" for line in body.replace("; ", "\n").splitlines())
    forward = function_of(f"def forward(self, x):\n{lines}", **scope)

    class Net(paddle.nn.Layer):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("b", tensor(1.0, 2.0))
            self.l = [tensor(1.0, 1.0)]
            self.c = None
            self.w = self.create_parameter([2])
            self.w.set_value(tensor(1.0, 1.0))

    Net.forward = forward
    net = Net()
    space = forward.__globals__

    def now() -> list[Any]:
        return [net.b, net.l[0], net.w, space["G"], space["D"]["k"]]

    return net, now(), lambda: (now(), net.c is net.b)


@pytest.mark.sampled(3, also=["before an exception", "another name"])
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_contents_gradient_and_identity(body: str) -> None:
    """F3: what somebody else holds has dygraph's contents after each run; it is the same tensor."""
    found: list[list[Any]] = [[], []]
    for seen, convert in zip(found, (False, True), strict=True):
        net, known, now = model(body)
        call = d2s.to_static(net) if convert else net
        for value in (1.0, -2.0, 3.0):
            x = tensor(value, value)
            x.stop_gradient = False
            try:
                y = call(x)
                seen.append(y.tolist())
                if not y.stop_gradient:
                    y.sum().backward()
                    seen.append(x.grad.tolist() if x.grad is not None else None)
            except AssertionError as error:
                seen.append(str(error))
            held, alike = now()
            seen.append([item.tolist() for item in known])
            seen.append([one is other for one, other in zip(known, held, strict=True)])
            seen.append(alike)
    assert found[1] == found[0]


def test_the_gradient_of_an_earlier_use_sees_the_old_contents() -> None:
    """C7: the backward reads what the forward has read (dygraph refuses this)."""
    net, _, _ = model("y = x * self.b; self.b.add_(x.detach()); return y")
    call = d2s.to_static(net)
    for before in ([1.0, 2.0], [4.0, 5.0]):
        x = tensor(3.0, 3.0)
        x.stop_gradient = False
        call(x).sum().backward()
        assert x.grad.tolist() == before


@pytest.mark.parametrize(
    ("body", "arguments"),
    [
        ("a[0] = 5.0; return X.sum()", lambda x: (x,)),
        ("X.add_(a); return a * 1", lambda x: (x,)),
        ("a[0] = 5.0; return b.sum()", lambda x: (x, x[0:2])),
        ("b.add_(b); return a.sum()", lambda x: (x, x[1:])),
    ],
)
def test_one_storage_under_two_names_is_refused(body: str, arguments: Any) -> None:
    """A1: where a program would show the change under one of the names only."""
    x = tensor(1.0, 2.0, 3.0)
    f = function_of(f"def f(a, b=None):\n    {body.replace('; ', chr(10) + '    ')}", X=x)
    with pytest.raises(InplaceError, match="under another name"):
        d2s.to_static(f)(*arguments(x))
    assert x.tolist() == [1.0, 2.0, 3.0]


def test_one_tensor_twice_among_the_arguments() -> None:
    """A1: both names show the change."""
    f = function_of("def f(a, b):\n    a[0] = 5.0\n    return b.sum()")
    x = tensor(1.0, 2.0)
    assert d2s.to_static(f)(x, x).item() == 7.0
    assert x.tolist() == [5.0, 2.0]
