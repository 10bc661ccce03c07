"""What else knows a container that a tensor changes afterwards: iterators, methods, calls (D1)."""

from __future__ import annotations

import collections
import functools
import itertools
import types
import warnings
from typing import Any

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


@pytest.mark.sampled(3, also=["zip of a zip"])
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


Pair = collections.namedtuple("Pair", "rows k")


class Keeper:
    def __init__(self, rows: Any) -> None:
        self._rows = rows

    def count(self) -> int:
        return len(self._rows)


def counting(rows: Any) -> Any:
    def count() -> int:
        return len(rows)

    return count


def one_by_one(rows: Any) -> Any:
    yield from rows


SCOPE = {
    "Pair": Pair, "Keeper": Keeper, "counting": counting, "collections": collections,
    "functools": functools, "types": types, "one_by_one": one_by_one,
}  # fmt: skip

BOUND_ANEW = {
    "a deque": ("collections.deque([rows])", "len(h[0])"),
    "a method": ("Keeper(rows).count", "h()"),
    "a lambda": ("lambda: len(rows)", "h()"),
    "a namespace": ("types.SimpleNamespace(rows=rows)", "len(h.rows)"),
}
NOT_BOUND = {
    "a default": ("lambda r=rows: len(r)", "h()"),
    "a partial": ("functools.partial(len, rows)", "h()"),
    "an exception": ("ValueError(rows)", "len(h.args[0])"),
    "a proxy": ("types.MappingProxyType({'r': rows})", "len(h['r'])"),
    "a slice": ("slice(rows)", "len(h.stop)"),
    "a closure": ("counting(rows)", "h()"),
    "a generator": ("one_by_one(rows)", "list(h)"),
    "in an iterator": ("enumerate([rows])", "len(next(h)[1])"),
}


def holding(made: str, used: str, change: str) -> str:
    return (
        f"def f(x, n):\n    rows = [x[0]]\n    h = {made}\n    {change}\n"
        f"    return {used}, len(rows)"
    )


@pytest.mark.parametrize("change", CHANGED.values(), ids=CHANGED.keys())
@pytest.mark.parametrize(("made", "used"), BOUND_ANEW.values(), ids=BOUND_ANEW.keys())
def test_what_gets_the_list_as_it_is_then(made: str, used: str, change: str) -> None:
    """D1: a list that grows is the same one wherever it is held."""
    for options in ({"full_graph": True}, {"full_graph": False}):
        f = function_of(holding(made, used, change), **SCOPE)
        static = d2s.to_static(f, **options)
        for call in CALLS:
            assert repr(static(*call)) == repr(f(*call))


@pytest.mark.parametrize("change", CHANGED.values(), ids=CHANGED.keys())
@pytest.mark.parametrize(("made", "used"), NOT_BOUND.values(), ids=NOT_BOUND.keys())
def test_what_would_keep_the_list_as_it_was(made: str, used: str, change: str) -> None:
    """D1: refused, or dygraph's."""
    f = function_of(holding(made, used, change), **SCOPE)
    static = d2s.to_static(f)
    with pytest.raises(ContainerInGraphError):
        static(*CALLS[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        static = d2s.to_static(f, full_graph=False)
        for call in CALLS:
            assert repr(static(*call)) == repr(f(*call))


def test_a_named_tuple_gets_the_list_that_a_loop_grows() -> None:
    """D1: behind a branch that is refused, and dygraph's by default."""
    calls = [*CALLS]
    loop = function_of(holding("Pair(rows, 1)", "len(h.rows)", CHANGED["a loop"]), **SCOPE)
    assert_same(loop, *calls)
    branch = function_of(holding("Pair(rows, 1)", "len(h.rows)", CHANGED["a branch"]), **SCOPE)
    with pytest.raises(ContainerInGraphError, match="h"):
        d2s.to_static(branch)(*calls[0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        static = d2s.to_static(branch, full_graph=False)
        for call in calls:
            assert repr(static(*call)) == repr(branch(*call))
