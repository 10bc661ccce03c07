"""Weak references: a program would keep alive what they refer to, so they stay outside of it."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import paddle
import pytest

import d2s
from d2s.errors import UnsupportedInGraphError
from tests.helpers import function_of, scalar


class Node:
    """What is referred to."""

    def __init__(self, value: float) -> None:
        self.value = scalar(value)

    def doubled(self) -> Any:
        return self.value * 2


def referent(node: Node) -> Callable[[Any], Any]:
    held = [weakref.ref(node)]

    def function(x):
        found = held[0]()
        return x if found is None else x * found.value

    return function


def bound(node: Node) -> Callable[[Any], Any]:
    held = weakref.WeakMethod(node.doubled)

    def function(x):
        found = held()
        return x if found is None else x * found()

    return function


def values(node: Node) -> Callable[[Any], Any]:
    table = weakref.WeakValueDictionary({"a": node})

    def function(x):
        return x * table["a"].value if "a" in table else x

    return function


def keys(node: Node) -> Callable[[Any], Any]:
    table = weakref.WeakKeyDictionary({node: scalar(0)})

    def function(x):
        for key in table:
            table[key] = table[key] + x
            x = x + table[key]
        return x

    return function


def members(node: Node) -> Callable[[Any], Any]:
    nodes = weakref.WeakSet([node])

    def function(x):
        for each in nodes:
            x = x * each.value
        return x

    return function


def proxy(node: Node) -> Callable[[Any], Any]:
    stands_for = weakref.proxy(node)

    def function(x):
        try:
            return x * stands_for.value
        except ReferenceError:
            return x

    return function


def made(node: Node) -> Callable[[Any], Any]:
    def function(x):
        mine = Node(2.0)
        reference = weakref.ref(mine)
        del mine
        return x if reference() is None else x + 1

    return function


def in_callee(node: Node) -> Callable[[Any], Any]:
    reference = weakref.ref(node)

    def get():
        return reference()

    def function(x):
        found = get()
        x = paddle.tanh(x) * 2 + x.mean() - 1
        return x if found is None else x * found.value + found.doubled() - found.value.abs()

    return function


def finalizer(node: Node) -> Callable[[Any], Any]:
    log = []
    end = weakref.finalize(node, log.append, "gone")

    def function(x):
        return x * 2 + len(log) if end.alive else x * 3 + len(log)

    return function


def cache(node: Node) -> Callable[[Any], Any]:
    table = weakref.WeakValueDictionary()

    def made_once(key):
        found = table.get(key)
        if found is None:
            found = table[key] = Node(len(table) + 2.0)
        return found

    def function(x):
        one, other = made_once(1), made_once(1)
        return x * one.doubled() + other.value * 2 - (0 if one is other else 1)

    return function


KINDS = [
    *(referent, bound, values, keys, members, proxy, made),
    *(in_callee, finalizer, cache),
]


@pytest.mark.parametrize("kind", KINDS)
def test_refused_as_one_program(kind: Callable[[Node], Any]) -> None:
    """F4: no program can tell when its object is gone."""
    node = Node(2.0)
    function = d2s.to_static(kind(node), full_graph=True)
    with pytest.raises(UnsupportedInGraphError, match="keeps alive") as caught:
        function(scalar(3))
    assert caught.value.code == "D2S205"
    assert caught.value.file == __file__


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", KINDS)
def test_right_between_islands(kind: Callable[[Node], Any]) -> None:
    """H1: what the object holds, and that it is gone, is seen by each call, and no later."""

    def told(convert: Callable[[Any], Any]) -> list[float]:
        node = Node(2.0)
        function = convert(kind(node))
        found = [function(scalar(3)).item(), function(scalar(3)).item()]
        node.value = scalar(5)
        found.append(function(scalar(3)).item())
        del node
        return [*found, *(function(scalar(3)).item() for _ in range(2))]

    gc.disable()
    try:
        assert told(d2s.to_static(full_graph=False)) == told(lambda function: function)
    finally:
        gc.enable()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("refused", ["x.numpy().tobytes()", "hash(x.item())", "next(numbers)"])
def test_a_capture_that_is_given_up_keeps_nothing(refused: str) -> None:
    """H1: what was passed to it, and what it has made, is gone when dygraph has it gone."""
    function = function_of(
        f"def f(x, node):\n    mine = Node(2.0)\n    seen.append(weakref.ref(mine))\n"
        f"    {refused}\n    return node",
        Node=Node, numbers=iter(range(99)), seen=(seen := []), weakref=weakref,
    )  # fmt: skip
    converted = d2s.to_static(function, full_graph=False)
    gc.disable()
    try:
        node = Node(1.0)
        seen.append(weakref.ref(node))
        assert converted(scalar(1.0), node) is node
        del node
        assert [reference() for reference in seen] == [None] * len(seen)
    finally:
        gc.enable()


def test_the_line_is_that_of_the_reference() -> None:
    """H1: the warning names the line that asks, not the function that contains it."""
    node = Node(2.0)
    text = "def f(x):\n    y = paddle.tanh(x) * 2 + x.mean() - 1\n    return y * found().value"
    function = d2s.to_static(function_of(text, found=weakref.ref(node)), full_graph=False)
    with pytest.warns(d2s.errors.BreakWarning, match=":3: the function uses weakref"):
        function(scalar(3))
    assert function.islands == ()


def test_what_the_function_does_not_use() -> None:
    """F4: weak references in attributes that the code does not name are nothing to it."""

    class Layer(paddle.nn.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.parents = weakref.WeakSet([Node(1.0)])
            self.parent = weakref.ref(self)

        def forward(self, x):
            return x * 2

    assert d2s.to_static(Layer(), full_graph=True)(scalar(3)).item() == 6
