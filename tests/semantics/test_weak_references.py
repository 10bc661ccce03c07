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
from tests.helpers import scalar


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


KINDS = [referent, bound, values, keys, members, proxy, made]


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
    """H1: what the object holds, and that it is gone, is seen by each call."""

    def told(convert: Callable[[Any], Any]) -> list[float]:
        node = Node(2.0)
        function = convert(kind(node))
        found = [function(scalar(3)).item(), function(scalar(3)).item()]
        node.value = scalar(5)
        found.append(function(scalar(3)).item())
        del node
        gc.collect()
        return [*found, function(scalar(3)).item()]

    assert told(d2s.to_static(full_graph=False)) == told(lambda function: function)


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
