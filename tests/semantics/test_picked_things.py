"""Functions, layers and objects in lists of which a tensor decides what is in them (C6, D3)."""

from __future__ import annotations

from typing import Any

import paddle
import pytest

import d2s
from d2s.errors import ContainerInGraphError
from tests.helpers import assert_same, function_of

PICKS = (
    paddle.to_tensor([0.5, -1.0, 2.0, 3.0], stop_gradient=False),
    paddle.to_tensor([-1.0, -2.0, -3.0, -0.5], stop_gradient=False),
    paddle.to_tensor([4.0, 3.0, 2.0, 1.0], stop_gradient=False),
    paddle.to_tensor([1.5, 1.0, -4.0, 9.0], stop_gradient=False),
)


class Item:
    """An object that no number stands for."""

    __slots__ = ("seen", "value")

    def __init__(self, value: float) -> None:
        self.value: Any = paddle.to_tensor(value)
        self.seen = 0

    def __bool__(self) -> bool:
        return bool(self.value > 1)

    def add(self, x: Any) -> None:
        self.seen += 1
        self.value = self.value + x


def _add_to_all(items: Any, kept: Any, x: Any) -> Any:
    for item in kept:
        item.add(x[0])
    return len(kept), [item.seen for item in kept]


def _change_the_others(items: Any, kept: Any, x: Any) -> Any:
    for item in items:
        item.value = item.value * x[1]
    return [item.value for item in kept]


def _ask(items: Any, kept: Any, x: Any) -> Any:
    if kept:
        kept[-1].seen = 7
    return items[0] in kept, items[2] in kept, [item.seen for item in items]


@pytest.mark.sampled(2)
@pytest.mark.parametrize("use", [_add_to_all, _change_the_others, _ask])
@pytest.mark.parametrize("full_graph", [True, False])
def test_objects_from_outside_that_a_tensor_picks(use: Any, full_graph: bool) -> None:
    """D3: they stay themselves in the list, for everybody who knows them."""

    def calls(convert: Any) -> list[Any]:
        items = [Item(float(i)) for i in range(4)]

        @convert
        def f(x: Any) -> Any:
            kept = [item for item, score in zip(items, x, strict=True) if score > 0]
            return use(items, kept, x), kept

        seen = []
        for x in PICKS:
            found, kept = f(x)
            places = [next(i for i, item in enumerate(items) if item is each) for each in kept]
            seen.append((str(found), places, [(float(i.value), i.seen) for i in items]))
        return seen

    assert calls(lambda f: d2s.to_static(f, full_graph=full_graph)) == calls(lambda f: f)


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "pick",
    [
        "[op for op, score in zip(ops, x) if score > 0]",
        "[op for name, op in {n: op for n, op in enumerate(ops) if x[n] > 0}.items()]",
        "[pair[1] for pair in [(i, op) for i, op in enumerate(ops) if x[i] > 0]]",
    ],
)
@pytest.mark.parametrize(
    "ops",
    [
        "[paddle.sin, paddle.cos, paddle.tanh, abs]",
        "[lambda v: v * 2, lambda v: v + 1, lambda v, k=3: v * k, paddle.exp]",
        "layers",
        "[layers[0].forward, layers[1].forward, F.relu, layers[2]]",
    ],
)
def test_functions_and_layers_that_a_tensor_picks(ops: str, pick: str) -> None:
    """C6: augmentations drawn by chance, layers that are left out; gradients go through them."""
    paddle.seed(4)
    layers = [paddle.nn.Linear(4, 4) for _ in range(4)]
    function = function_of(
        f"""
import paddle
import paddle.nn.functional as F

def f(x):
    ops = {ops}
    picked = {pick}
    y = x
    for op in picked:
        y = op(y)
    return y, len(picked)
""",
        layers=layers,
    )
    assert_same(function, *PICKS)


def test_functions_that_a_loop_makes_anew() -> None:
    """D3: a function of each trip is none that the program knows."""
    function = function_of("""
def f(x):
    out = []
    for i in range((x > 0).sum()):
        out.append(lambda v: v * i + x[0])
    for g in out:
        x = g(x)
    return x
""")
    with pytest.raises(ContainerInGraphError, match="a value of type 'function' is put into"):
        d2s.to_static(function, full_graph=True)(PICKS[0])
    assert_same(function, *PICKS, static=d2s.to_static(function, full_graph=False))


def test_slices_that_a_tensor_picks() -> None:
    """C6: constants that are no texts."""
    function = function_of("""
def f(x):
    parts = (slice(0, 1), slice(1, 3), slice(None), slice(2, 3))
    return [x[part].sum() for part in [part for i, part in enumerate(parts) if x[i] > 0]]
""")
    assert_same(function, *PICKS)
