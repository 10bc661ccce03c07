"""Iterators, views and bound methods of a container that a tensor changes afterwards (rule D1)."""

from __future__ import annotations

import itertools
import warnings

import pytest

import d2s
from d2s.errors import ContainerInGraphError
from tests.helpers import assert_same, function_of, scalar, tensor

CALLS = (
    (tensor(4.0, -2.0, 6.0), scalar(3)),
    (tensor(1.0, 2.0, -3.0), scalar(2)),
    (tensor(-1.0, 2.0, -3.0), scalar(0)),
)

MADE = {
    "iter": "iter(rows)",
    "zip": "zip(rows, range(9))",
    "zip of a zip": "zip(zip(rows, rows), range(9))",
    "enumerate": "enumerate(rows)",
    "map": "map(lambda v: v * 2, rows)",
    "a generator": "(v * 2 for v in rows)",
    "chain": "itertools.chain(rows, [x[2]])",
    "islice": "itertools.islice(rows, 2)",
}
CHANGED = {
    "a branch": "if x[0] > 0:\n        rows.append(x[1])",
    "a loop": "for i in range(n):\n        rows.append(x[i])",
}
BOUND = {
    "len": ("rows = [x[0]]; made = rows.__len__", "made()"),
    "getitem": ("rows = [x[0]]; made = rows.__getitem__", "made(-1)"),
    "sort": ("rows = [3, 1]; made = rows.sort", "made(), rows"),
    "get": ("rows = {}; made = rows.get", "made(1)"),
    "append": ("rows = []; made = rows.append", "made(x[1]), len(rows)"),
}
GROWS = {
    "sort": "if x[0] > 0:\n        rows.append(0)",
    "get": "for i in range(n):\n        rows[int(i)] = x[i]",
}


def refused_or_as_in_dygraph(text: str) -> None:
    f = function_of(text, itertools=itertools)
    with pytest.raises(ContainerInGraphError):
        d2s.to_static(f)(*CALLS[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        static = d2s.to_static(f, full_graph=False)
        for call in CALLS:
            assert repr(static(*call)) == repr(f(*call))


@pytest.mark.parametrize("change", CHANGED)
@pytest.mark.parametrize("made", MADE)
def test_an_iterator_over_a_list_that_grows(made: str, change: str) -> None:
    """D1: Python's iterators ask for items late: refused, or dygraph's, and never the old items."""
    refused_or_as_in_dygraph(
        f"def f(x, n):\n    rows = [x[0]]\n    made = {MADE[made]}\n    {CHANGED[change]}\n"
        "    return list(made)"
    )


@pytest.mark.parametrize("name", BOUND)
def test_a_bound_method_of_a_container_that_changes(name: str) -> None:
    """D1: it is that of the container as it was."""
    begin, used = BOUND[name]
    change = GROWS.get(name, CHANGED["a branch"])
    refused_or_as_in_dygraph(f"def f(x, n):\n    {begin}\n    {change}\n    return {used}")


def test_a_zip_of_a_list_of_the_run_that_changes() -> None:
    """D1: it has as many items as the list then, not as when it was made."""
    refused_or_as_in_dygraph("""
def f(x, n):
    rows = [x[i] for i in range(n)]
    pairs = zip(rows, rows)
    rows.append(x[0])
    return list(pairs)
""")


@pytest.mark.parametrize("made", MADE)
def test_an_iterator_that_is_used_up_first(made: str) -> None:
    """D1: nobody asks it any more when the list changes."""
    f = function_of(
        f"def f(x, n):\n    rows = [x[0]]\n    made = {MADE[made]}\n    found = list(made)\n"
        f"    {CHANGED['a loop']}\n    return found, rows",
        itertools=itertools,
    )
    assert_same(f, *CALLS)


def test_loops_over_what_they_change() -> None:
    """D1: the iterator of a ``for`` has no name; neither has what is used at once."""
    f = function_of("""
    def f(x, n):
        rows, seen = [x[0], x[1]], []
        for k, v in enumerate(rows):
            if v > 0:
                seen.append(v * k)
        for a, b in zip(rows, rows[1:]):
            if a > b:
                rows = rows + [b]
        return rows, seen
    """)
    assert_same(f, *CALLS)
