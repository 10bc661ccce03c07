"""Walking along objects where a tensor decides how far, or which way (rules B4, C1)."""

from __future__ import annotations

import pytest

import d2s
from tests.helpers import assert_same, function_of, tensor

NODES = """
class Node:
    def __init__(self, value, next=None, other=None):
        self.value = value
        self.next = next
        self.other = other
"""
INPUTS = (tensor(5.0), tensor(3.0), tensor(1.0), tensor(0.1))


@pytest.mark.sampled(2)
@pytest.mark.parametrize("test", ["node is not None", "node"])
@pytest.mark.parametrize(
    "after", ["-x if node is None else node.value", "x * count", "(x, node is None)"]
)
def test_along_a_list(test: str, after: str) -> None:
    """C1: each of the objects is looked at in the side that has not left the loop."""
    function = function_of(
        f"""{NODES}
def f(x):
    node, count = Node(x, Node(x * 2, Node(x * 3))), 0
    while {test}:
        if node.value.sum() > 4:
            break
        node = node.next
        count += 1
    return {after}
""",
        "f",
    )
    assert_same(function, *INPUTS)


def test_the_else_of_the_walk() -> None:
    """C1: where the end of the list is reached."""
    function = function_of(
        f"""{NODES}
def f(x):
    node, total = Node(x, Node(x * 2, Node(x * 3))), 0 * x
    while node:
        if node.value.sum() > 4:
            break
        total = total + node.value
        node = node.next
    else:
        total = total + 100
    return total
""",
        "f",
    )
    assert_same(function, *INPUTS)


def test_none_that_an_attribute_holds() -> None:
    """B4: ``None`` in an attribute of one of several objects raised as if it were used."""
    function = function_of(
        f"""{NODES}
def f(x):
    node = Node(x, Node(x * 2)) if x.sum() > 2 else Node(x * 3)
    after = node.next
    if after is None:
        return x - 1
    return after.value
""",
        "f",
    )
    assert_same(function, *INPUTS)


def test_down_a_tree() -> None:
    """B4, C1: a tensor decides at each node which way to go."""
    function = function_of(
        f"""{NODES}
def f(x):
    node = Node(2.0, Node(0.5, Node(None), Node(None)), Node(4.0, Node(None), Node(None)))
    way = []
    while node.next is not None:
        node = node.next if x.sum() < node.value else node.other
        way.append(node.value)
    return way
""",
        "f",
    )
    assert_same(function, *INPUTS)


LOOPS = {
    "items": "for node in nodes: node.value = node.value + 1",
    "enumerate": "for i, node in enumerate(nodes): node.value = node.value + i + 1",
    "zip": "for node, k in zip(nodes, (5, 6)): node.value = node.value * k",
    "two names": "for node in nodes:\n        kept = node\n        kept.value = kept.value + 1",
}


@pytest.mark.parametrize("loop", LOOPS.values(), ids=LOOPS)
def test_a_loop_over_one_of_two_lists_changes_the_objects_in_it(loop: str) -> None:
    """B4: refused as a tensor that leaks out of a branch before; the other list stays as it is."""
    function = function_of(
        f"""{NODES}
def f(x):
    a, b = [Node(x)], [Node(x * 2), Node(x * 3)]
    nodes = a if x.sum() > 2 else b
    {loop}
    return [node.value for node in a], [node.value for node in b]
""",
        "f",
    )
    assert_same(function, *INPUTS, static=d2s.to_static(function, full_graph=True))


def test_a_loop_over_one_of_two_dicts_changes_the_objects_in_it() -> None:
    """B4: the values of a dict, too."""
    function = function_of(
        f"""{NODES}
def f(x):
    a, b = {{0: Node(x)}}, {{1: Node(x * 2), 2: Node(x * 3)}}
    nodes = a if x.sum() > 2 else b
    for node in nodes.values():
        node.value = node.value + 1
    return [node.value for node in a.values()], [node.value for node in b.values()]
""",
        "f",
    )
    assert_same(function, *INPUTS, static=d2s.to_static(function, full_graph=True))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("times", [1, 2, 3, 30])
@pytest.mark.parametrize("first", ["[Node(x), Node(x * 2)]", "step(None, x)"])
@pytest.mark.parametrize("leave", ["if x.sum() > 4: break", "if x.sum() > 4: continue"])
def test_objects_are_handed_on_in_a_new_list(leave: str, first: str, times: int) -> None:
    """B4, C1: the caches of a decoder, which a tensor may stop from being handed on once more."""
    function = function_of(
        f"""{NODES}
from itertools import zip_longest

def step(nodes, x):
    new = []
    for k, node in zip_longest(range(2), nodes or []):
        node = node if node is not None else Node(x * k)
        node.value = node.value + 1
        new.append(node)
    return new

def f(x):
    nodes = {first}
    for trip in range({times}):
        {leave}
        nodes = step(nodes, x)
        x = x + 1
    return [node.value for node in nodes], x
""",
        "f",
    )
    assert_same(function, *INPUTS, static=d2s.to_static(function, full_graph=True))
