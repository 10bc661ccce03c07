"""Lists, tuples, dicts and data classes that hold tensors are compared as Python compares them."""

from __future__ import annotations

import collections
import dataclasses
import functools
from typing import Any

import pytest

from tests.helpers import assert_same, function_of, scalar, tensor

X = tensor(1.0, -2.0, 3.0)

Pair = collections.namedtuple("Pair", "cost index")


@dataclasses.dataclass
class Node:
    cost: Any
    name: str = "a"


DECIDED = """
    x[:n].shape == x[:m].shape | x[:n].shape != x[:2].shape | x[:n].shape == [2]
    [2] != x[:n].shape
    (x if x.sum() > 0 else x[:2]).shape == [3] | (x if x.sum() > 0 else x[:2]).shape != x.shape
    [int(n), 2] == [1, 2] | (int(n), int(m)) == (2, 2) | (int(n), 2) != (1, 2) | (n, m) == (m, n)
    [n, "a"] == [m, "a"] | [n, "a"] == [m, "b"] | [n, 1] == (n, 1) | [n] == [n, m]
    [x, n] == [x, m]
    {"k": n} == {"k": m} | {"k": n} == {"j": n} | {"k": n} != {"k": m, "j": n} | [] == [n]
    [(n, 1), [m]] == [(m, 1), [n]] | (int(n), 2) in [(1, 2), (3, 2)] | n in [1, 3]
    [n] not in [[2]]
    Pair(n, 1) == Pair(m, 1) | Pair(n, 1) == (m, 1) | Node(n) == Node(m) | Node(n) != Node(m, "b")
    Node([n]) == Node([m]) | deque([n, m]) == deque([m, n]) | deque([n]) == [n]
    (n, 1) < (m, 2) | (int(n), 5) <= (2, int(m)) | [n, m] > [m, n]
    (n, m) >= (n, 2) | (n,) < (n, m)
    1 < n == m | (n, 1) == (m, 1) == (2, 1)
"""

ORDERED = """
    min((n, 0), (m, 1)) | max([(n, 0), (m, 1), (n, 2)]) | min([(x[0], "a"), (x[1], "b")])
    sorted([(n, 3), (m, 1), (n, 2)]) | sorted([(x[0], 1), (x[1], 2)], reverse=True)
    sorted([(n, (m, 1)), (n, (n, 0))]) | max([(n, m), (m, n)], key=lambda p: (p[1], p[0]))
    sorted([3, 1, 2], key=lambda k: (n - k, k)) | min([1, 2, 3], key=lambda k: ((k - n).abs(), -k))
"""

RANKED = """
    heapq.nlargest(2, x) | heapq.nsmallest(2, [x[0], x[1], x[2]]) | heapq.nlargest(1, [n, m])
    heapq.nsmallest(2, [(n, 1), (m, 0), (n, 0)]) | heapq.nlargest(9, x, key=lambda v: -v)
    heapq.nsmallest(n=0, iterable=x) | heapq.nlargest(2, [3, 1, 2], key=lambda k: k * n)
    bisect.bisect_left([1, 2, 3], n) | bisect.bisect_right([1, 2, 2, 3], n) | bisect.bisect([1], m)
    bisect.bisect_left([n, 2, 3], 2) | bisect.bisect([], n) | bisect.bisect_left([4, 1, 3, 0, 2], n)
    bisect.bisect_right([1, 2, 3, 4], n, 1, hi=3) | bisect.bisect_left([5, 6], x[2], key=abs)
    bisect.bisect_left([1, 2, 3], 2) | bisect.bisect_left(a=[-2.0, 1.0, 3.0], x=x[1], lo=1)
"""

CALLS = [(X, scalar(1), scalar(2)), (-X, scalar(2), scalar(2)), (X, scalar(3), scalar(1))]


def texts(table: str) -> list[str]:
    return [text.strip() for text in table.replace("\n", "|").split("|") if text.strip()]


SCOPE = {"Pair": Pair, "Node": Node, "deque": collections.deque}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("text", texts(DECIDED))
def test_as_a_condition(text: str) -> None:
    """B1, B5: in an ``if``, and as a value."""
    function = function_of(
        f"""
        def f(x, n, m):
            found = {text}
            if {text}:
                x = x * 2
            return x, found
        """,
        "f",
        **SCOPE,
    )
    assert_same(function, *CALLS)


@pytest.mark.parametrize("text", texts(ORDERED))
def test_in_order(text: str) -> None:
    """E1: ``min``, ``max`` and ``sorted`` of tuples: the first items that differ decide."""
    assert_same(function_of(f"def f(x, n, m): return {text}", "f", **SCOPE), *CALLS)


@pytest.mark.sampled(
    3,
    also=[
        "bisect.bisect([], n)",
        "bisect.bisect_right([1, 2, 3, 4], n, 1, hi=3)",
        "bisect.bisect_left([n, 2, 3], 2)",
        "bisect.bisect_left([5, 6], x[2], key=abs)",
    ],
)
@pytest.mark.parametrize("text", texts(RANKED))
def test_of_heapq_and_bisect(text: str) -> None:
    """E1: the largest, the smallest, and where something belongs."""
    function = function_of(f"import bisect, heapq\ndef f(x, n, m): return {text}", "f")
    assert_same(function, *CALLS)


def test_two_lists_of_different_sizes() -> None:
    """B4: lists between which a branch has chosen."""

    def f(x, n):
        sizes = [n, 1] if x.sum() > 0 else [n]
        if sizes == [2]:
            return x * 2
        if sizes != [2, 1]:
            return x * 3
        return x

    assert_same(f, (X, scalar(2)), (-X, scalar(2)), (X, scalar(1)))


def test_a_loop_that_ends_when_nothing_changes() -> None:
    """C1: the state of one trip against that of the one before."""

    def f(x, n):
        state, before = (n, 0), None
        while state != before:
            before = state
            state = (state[0] // 2, state[1])
            x = x + state[0]
        return x, state

    assert_same(f, (X, scalar(9)), (X, scalar(0)))


def test_an_item_is_looked_for_in_a_deque() -> None:
    """``in`` compares with each item, as in a list."""
    function = function_of(
        """
        def f(x, n):
            seen = deque([x[0], x[1] * 2])
            if x[n] in seen:
                return x * 2
            return x - 1
        """,
        deque=collections.deque,
    )
    assert_same(function, *((X, scalar(n)) for n in (0, 1, 2)))


@functools.total_ordering
class Price:
    """An ``__eq__`` and an ``__lt__``; ``functools`` and Python make the others of them."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> Any:
        return self.value == other.value if isinstance(other, Price) else NotImplemented

    def __lt__(self, other: Price) -> Any:
        return self.value < other.value


class Rounded(Price):
    """A subclass, which Python asks first, with a ``!=`` of its own."""

    def __ne__(self, other: object) -> Any:
        return self.value.round() != other.value.round() if isinstance(other, Price) else True


@pytest.mark.sampled(3)
@pytest.mark.parametrize("symbol", ["<", "<=", ">", ">=", "==", "!="])
@pytest.mark.parametrize("right", ["Price(x[1])", "Rounded(x[1])", "3", "None"])
def test_comparisons_that_python_makes_of_others(symbol: str, right: str) -> None:
    """A1, B1: ``!=`` where a class has ``__eq__`` alone, and those of ``total_ordering``."""
    if right in ("3", "None") and symbol not in ("==", "!="):
        right = "Price(x[0])"
    function = function_of(
        f"""
        def f(x):
            if Price(x[0]) {symbol} {right}:
                return x * 2
            return x - 1
        """,
        Price=Price,
        Rounded=Rounded,
    )
    assert_same(function, (tensor(1.0, 1.2),), (tensor(1.0, 1.0),), (tensor(2.0, 1.0),))
