"""A parameter or buffer that a layer gives is the tensor that others know (rules A1, B4, F3)."""

from __future__ import annotations

import copy
from typing import Any

import paddle
import pytest

import d2s
from tests.helpers import function_of

EagerParamBase = paddle.base.framework.EagerParamBase

ASKED = {
    "is": "net.b is b, net[0].weight is w, w is net[0].weight",
    "is one of": "net.parameters()[0] is net[0].weight, net.buffers()[0] is net.b",
    "is not": "net[0].weight is not w, [p is not net[0].weight for p in net.parameters()]",
    "an attribute of another object": "box.w is net[0].weight, box.b is net.b",
    "its id": "id(net[0].weight) == id(w), id(net[0].weight) in {id(p) for p in net.parameters()}",
    "a key of the ids outside": "by_id.get(id(net[0].weight)), by_id.get(id(net.b)), by_id[id(w)]",
    "a key of a dict outside": "by_key.get(net[0].weight), by_key[net.b], net[1].weight in by_key",
    "a key of a dict made here": "{net[0].weight: 1}.get(w), len({net.b: 1, b: 2})",
    "an item of a set": "w in {net[0].weight}, len({net[0].weight, w, net.b, b})",
    "its class": "isinstance(net[0].weight, Param), isinstance(net.b, Param), type(net.b).__name__",
    "what parameters have": "net[0].weight.trainable, hasattr(net.b, 'trainable')",
    "flags": "net.b.persistable, net[0].weight.persistable, net[0].weight.stop_gradient",
    "read by getattr": "getattr(net[0], 'weight') is w, getattr(net, 'none', w) is net[0].weight",
}


def world() -> dict[str, Any]:
    paddle.seed(3)
    net = paddle.nn.Sequential(paddle.nn.Linear(2, 2), paddle.nn.Linear(2, 2))
    net.register_buffer("b", paddle.to_tensor([1.0, 2.0]))
    w, b = net[0].weight, net.b
    box = type("Box", (), {"w": w, "b": b})()
    by_id = {id(w): "weight", id(b): "buffer"}
    by_key = {w: "weight", b: "buffer"}
    known = {"net": net, "w": w, "b": b, "box": box, "by_id": by_id, "by_key": by_key}
    return {**known, "Param": EagerParamBase, "copy": copy}


def seen(text: str, convert: Any) -> list[Any]:
    """What three calls give, with what a tensor decides in them."""
    f = convert(function_of(text, "f", **world()))
    results = [f(paddle.to_tensor(value)) for value in (1.0, -1.0, 2.0)]
    return paddle.utils.map_structure(
        lambda leaf: leaf.tolist() if isinstance(leaf, paddle.Tensor) else leaf, results
    )


@pytest.mark.sampled(3)
@pytest.mark.parametrize("full_graph", [True, False])
@pytest.mark.parametrize("asked", ASKED)
def test_identity_and_class(asked: str, full_graph: bool) -> None:
    """A1: `is`, `id`, keys of dicts and classes say of it what they say in dygraph."""
    text = f"def f(x):\n    y = x * 2 if x > 0 else x\n    return y, ({ASKED[asked]})"
    convert = d2s.to_static(full_graph=full_graph)
    assert seen(text, convert) == seen(text, lambda f: f)


CHANGED = {
    "at once": "net[0].weight.add_(x)",
    "in a branch": "if x > 0:\n            net[0].weight.add_(x)",
    "under another name": "p = net[0].weight\n        if x > 0:\n            p.set_value(p * x)",
    "an item": "if x > 0:\n            net[0].weight[0] = 2.0",
}


@pytest.mark.parametrize("full_graph", [True, False])
@pytest.mark.parametrize("changed", CHANGED)
def test_a_changed_parameter_is_still_the_key_that_it_was(changed: str, full_graph: bool) -> None:
    """B4, F3: a change in place leaves it the same object, also one that a branch makes."""
    text = f"""
def f(x):
    with paddle.no_grad():
        {CHANGED[changed]}
    q = net[0].weight
    return q is w, id(q) == id(w), by_key.get(q), by_id.get(id(q)), q * 1, w * 1, box.w * 1
"""
    convert = d2s.to_static(full_graph=full_graph)
    assert seen(text, convert) == seen(text, lambda f: f)


USED = {
    "groups by id": """
def f(x):
    apart = {id(p) for p in (net[0].weight, net[1].bias)}
    return sum((p * p).sum() for p in net.parameters() if id(p) not in apart) * x
""",
    "groups by key": """
def f(x):
    apart = {net[0].weight, net[1].bias}
    return sum((p * p).sum() for p in net.parameters() if p not in apart) * x
""",
    "groups by identity": """
def f(x):
    return sum((p * p).sum() for p in net.parameters() if p is not net[0].weight) * x
""",
    "state by parameter": """
state = {}

def f(x):
    for p in net.parameters():
        state[p] = state[p] + p.sum() * x if p in state else p.sum() * x
    return state[net[0].weight], state[net[1].bias], len(state)
""",
    "a copy": """
def f(x):
    copied = copy.deepcopy(net[0].weight)
    return copied.sum() * x, copied is w, copied.stop_gradient
""",
}


@pytest.mark.parametrize("full_graph", [True, False])
@pytest.mark.parametrize("used", USED)
def test_parameters_told_apart(used: str, full_graph: bool) -> None:
    """A1: parameters chosen, and state kept, by the parameters themselves."""
    convert = d2s.to_static(full_graph=full_graph)
    assert seen(USED[used], convert) == seen(USED[used], lambda f: f)


class Wrapped(paddle.nn.Layer):
    """A layer with a ``__getattr__`` of its own, that asks Paddle's."""

    def __init__(self, inner: paddle.nn.Layer) -> None:
        super().__init__()
        self.inner = inner

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            return getattr(self.inner, name)

    def forward(self, x: Any) -> Any:
        same = self.weight is self.inner.weight
        return self.inner(x) + paddle.nn.functional.linear(x, self.weight), same


def test_a_layer_that_asks_another_one() -> None:
    """A1: the reader is the user's code, however many methods lie between."""
    found = []
    for convert in (lambda layer: layer, d2s.to_static(full_graph=True)):
        paddle.seed(1)
        net = convert(Wrapped(paddle.nn.Linear(2, 2)))
        x = paddle.to_tensor([[1.0, 2.0]], stop_gradient=False)
        for _ in range(2):
            y, same = net(x)
            y.sum().backward()
            found.append((y.tolist(), same, x.grad.tolist(), net.inner.weight.grad.tolist()))
    assert found[:2] == found[2:]


MOVED = {
    "two buffers change places": "net.b, net.c = net.c, net.b; return net.b * x",
    "one gets another name": "net.d = net.b; net.d.add_(x); return net.b * 1",
    "a branch lets two change places": "if x.sum() > 0:\n        net.b, net.c = net.c, net.b\n"
    "    return net.b * x",
    "one replaces another": "net.b = net.c if x.sum() > 0 else net.b; return net.b * x",
    "one is put into a list outside": "kept.append(net.b); return kept[-1] * x",
    "one is replaced behind that": "kept.append(net.b); net.b = net.b * x; return kept[-1] * 1",
    "one is returned": "return net.b",
    "several are returned": "return [net.b, net.c, net.b]",
    "a loop changes one": "while net.b.sum() < 10:\n        net.b = net.b + net.c.abs() + 1\n"
    "    return net.b * 1",
    "a loop changes one in place": "for _ in range(3):\n        net.b.add_(x)\n"
    "        if net.b.sum() > 4:\n            break\n    return net.b * 1",
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("full_graph", [True, False])
@pytest.mark.parametrize("moved", MOVED)
def test_a_buffer_that_is_held_elsewhere(moved: str, full_graph: bool) -> None:
    """A1, F3: after each call, who holds it holds the same tensor as in dygraph."""
    text = f"def f(x):\n    {MOVED[moved].replace('; ', chr(10) + '    ')}"
    found: list[list[Any]] = [[], []]
    for told, convert in zip(
        found, (lambda f: f, d2s.to_static(full_graph=full_graph)), strict=True
    ):
        net, kept = paddle.nn.Layer(), list[Any]()
        net.register_buffer("b", paddle.to_tensor([1.0, 2.0]))
        net.register_buffer("c", paddle.to_tensor([3.0, -4.0]))
        names = [net.b, net.c]
        f = convert(function_of(text, "f", net=net, kept=kept))
        for values in ([1.0, 1.0], [-1.0, -2.0], [0.5, 1.0]):
            result = f(paddle.to_tensor(values))
            held = [*(result if isinstance(result, list) else [result]), *net.buffers(), *kept]
            told.append([(item.tolist(), [item is name for name in names]) for item in held])
            told.append(list(net._buffers))
    assert found[0] == found[1]
