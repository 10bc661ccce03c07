"""``any``, ``all`` and ``next`` ask for no item behind the one that decides (C6, F4).

What their functions change is then changed as often as in dygraph; they once went over all items.
"""

from __future__ import annotations

import pytest

import d2s
from d2s.errors import BreakWarning, ContainerInGraphError
from tests.helpers import assert_same, function_of, tensor

CALLS = [
    tensor(1.0, 3.0, 4.0, -1.0),
    tensor(1.0, 1.0, -1.0),
    tensor(-1.0, -2.0),
    tensor(5.0, 1.0, 1.0, 1.0, 1.0),
    tensor(1.0, 1.0, 1.0, 3.0),
]

COUNTED = """
class Counter:
    def __init__(self):
        self.n = 0

    def twice(self, v):
        self.n += 1
        return v * 2

def positive(x, c):
    for v in x:
        if v > 0:
            c.n += 1
            yield v * 3

def f(x):
    c = Counter()
    got = {}
    return got, c.n
"""

OPEN = [
    "any(c.twice(v) > 6 for v in x[x > 0])",
    "all(c.twice(v) < 6 for v in x[x > 0])",
    "any(c.twice(v) > 6 for v in x[x > 0] if v > 1)",
    "next((v for v in x[x > 0] if c.twice(v) > 4), None)",
    "next((c.twice(v) for v in x[x > 0]), x.sum())",
    "next(c.twice(v) for v in x[x > 0])",
    "next(v for v in x[x > -100] if v > 2)",
    "next((i, v) for i, v in enumerate(x[x > -100]) if v > 2)",
    "next(positive(x, c))",
    "[i for i in range(3) if any(c.twice(v) > i * 2 for v in x[x > 0])]",
    "all(any(c.twice(u) > v for u in x[x > 0]) for v in x[x > -10])",
    "any(c.twice(a) > c.twice(b) * 2 for a, b in zip(x[x > 0], x[x > 0][1:]))",
]

KNOWN = [
    "next(v for v in [x[0], x[1], x.sum()] if c.twice(v) > 4)",
    "next((v for v in [x[0], x[1], x.sum()] if c.twice(v) > 4), None)",
    "next((k for k in range(3) if c.twice(x[0]) > 2 * k + 4), -1)",
    "next(k for k in range(5) if k > 2), next((k for k in range(2) if k > 2), None)",
    "next((n for n, v in {'a': x[0], 'b': x[1]}.items() if c.twice(v) > 4), 'none')",
    "any(c.twice(v) > 4 for v in [x[0], x[1], x.sum()])",
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("search", OPEN + KNOWN)
def test_no_item_behind_the_one_that_decides(search: str) -> None:
    """C6: what the function of a search counts, over items of the run and over Python's."""
    assert_same(function_of(COUNTED.replace("{}", search), "f"), *CALLS)


@pytest.mark.parametrize("search", ["v for v in [x[0], x[1]] if v > 4", "v for v in x if v > 4"])
def test_no_item_at_all_is_told_by_an_exception(search: str) -> None:
    """E1: ``next`` without a second argument raises ``StopIteration``, which may be caught."""
    raising = function_of(f"def f(x):\n    return x.sum() + next({search})")
    assert_same(raising, *CALLS)
    caught = f"""
def f(x):
    try:
        found = next({search})
    except StopIteration:
        found = x.max() * 100
    return found
"""
    assert_same(function_of(caught), *CALLS)


def test_the_condition_of_a_loop_is_a_search() -> None:
    """C2, C6: it is searched again on each trip, as far as is needed."""
    text = COUNTED.replace(
        "    got = {}\n    return got, c.n",
        """
    k = 0
    while k < 9 and not any(c.twice(v) > 16 for v in x[x > 0]):
        x = x + 1
        k += 1
    return x, k, c.n""",
    )
    assert_same(function_of(text, "f"), *CALLS)


def test_items_behind_the_one_that_decides_raise_nothing() -> None:
    """E1: a function that would raise for the next item is not called with it."""
    text = """
def f(x):
    def large(v):
        if v > 3.5:
            raise ValueError("too large")
        return v > 2.5
    return any(large(v) for v in x[x > 0])
"""
    assert_same(function_of(text), *CALLS)


def test_gradients_go_to_the_item_that_is_found() -> None:
    """C7: the branch of the item hands its gradient on."""
    assert_same(lambda x: next((v * v for v in [x[0], x[1] * 3] if v > 2), x.sum()), *CALLS)
    assert_same(lambda x: next((v * v for v in x if v > 2), x.sum()), *CALLS)


def test_a_search_over_very_many_items_of_python_is_refused() -> None:
    """D1: each item is a branch in the one before."""
    f = function_of("def f(x):\n    return next((k for k in range(200) if x.sum() < k), -1)")
    with pytest.raises(ContainerInGraphError, match=r"nest more than 80 branches"):
        d2s.to_static(f, full_graph=True)(CALLS[0])


def test_items_are_objects_that_the_search_changes() -> None:
    """F4: an object that is asked has changed, one behind it has not."""
    text = COUNTED.replace(
        "    got = {}\n    return got, c.n",
        """
    first, second = Counter(), Counter()
    found = any(o.twice(x[0]) > 4 for o in [c, first, second])
    every = all(map(lambda o: o.twice(x[1]) < 4, (first, second)))
    last = next((o.twice(x[0]) for o in [second, c] if o.twice(x[1]) > 1), x.max())
    return found, every, last, c.n, first.n, second.n""",
    )
    assert_same(function_of(text, "f"), *CALLS)


@pytest.mark.parametrize(
    "search",
    [
        "any(c.put(v) > 2 for v in [x[0], x[1], x[2], x.sum()])",
        "all(c.put(v) < 2 for v in [x[0], x[1], x[2], x.sum()])",
        "next((v for v in [x[0], x[1], x[2], x.sum()] if c.put(v) > 2), None)",
        "any(map(lambda v: c.put(v) > 2, [x[0], x[1], x[2]]))",
    ],
)
def test_a_search_that_would_be_captured_again_is_refused(search: str) -> None:
    """D1, F4: items that are taken come once; some were left out, silently."""
    text = f"""
class Kept:
    def __init__(self):
        self.n, self.table = 0, {{}}

    def put(self, v):
        self.n += 1
        if self.n > 1:
            self.table[int(v)] = v
        return v

def f(x):
    c = Kept()
    return {search}, c.n, c.table
"""
    f = function_of(text, "f")
    with pytest.raises(ContainerInGraphError, match=r"any\(\), all\(\) or next\(\) calls"):
        d2s.to_static(f, full_graph=True)(CALLS[0])
    with pytest.warns(BreakWarning):
        assert_same(f, *CALLS[:1], *CALLS[3:], static=d2s.to_static(f, full_graph=False))
