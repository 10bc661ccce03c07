"""Walking along objects where a tensor decides how far, or which way (rules B4, C1)."""

from __future__ import annotations

import pytest

from tests.helpers import assert_same, function_of, tensor

NODES = """
class Node:
    def __init__(self, value, next=None, other=None):
        self.value = value
        self.next = next
        self.other = other
"""
INPUTS = (tensor(5.0), tensor(3.0), tensor(1.0), tensor(0.1))


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
