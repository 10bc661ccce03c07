"""Iterators and generators that a branch or a static loop takes items from (rules A1, E1)."""

from __future__ import annotations

import collections
import itertools
from typing import Any

import pytest

import d2s
from d2s.errors import UnsupportedInGraphError
from tests.helpers import assert_same, function_of, tensor

SUMS = """
def sums():
    total = 0.0
    while True:
        total = total + (yield total)

def f(x):
    g = sums()
    next(g)
"""

TAKES = ["next(it)", "sum(it)", "list(it)[0]", "max(it)", "[k * 2 for k in it][0]"]


@pytest.mark.parametrize("take", TAKES)
def test_a_branch_takes_and_nobody_else_does(take: str) -> None:
    """A1: an iterator that only one side of a branch uses."""
    function = function_of(
        f"""
        def f(x):
            it = iter([1.0, 2.0, 3.0])
            if x.sum() > 3:
                x = x * {take}
            return x
        """
    )
    assert_same(function, tensor(1.0, 3.0), tensor(1.0, 1.0))


UNPACKED = {
    "two names": "a, b = it",
    "under another name": "other = it\n        a, b = other",
    "of an attribute": "box.it = it\n        a, b = box.it",
    "of a list": "held = [it]\n        a, b = held[0]",
    "in brackets": "[a, b] = it",
    "into a list": "row = [0, 0]\n        row[0], row[1] = it",
    "into attributes": "box.a, box.b = it",
    "beside another name": "c = a, b = it",
    "in a function": "take(it)",
    "with a star": "a, *b = it",
    "in": "found = 2.0 in it",
    "not in": "found = 2.0 not in it",
    "as arguments": "count(*it)",
    "extend": "row = []\n        row.extend(it)",
    "added to a list": "row = []\n        row += it",
    "a slice": "row = [1]\n        row[:] = it",
    "fromkeys": "found = dict.fromkeys(it)",
    "update of a set": "found = set()\n        found.update(it)",
    "update of a counter": "found = collections.Counter()\n        found.update(it)",
    "a deque": "found = collections.deque()\n        found.extend(it)",
    "groupby": "found = list(itertools.groupby(it))",
    "takewhile": "found = list(itertools.takewhile(bool, it))",
}


def unpacking(take: str, source: str) -> Any:
    """A function in which one side of a branch unpacks an iterator."""
    return function_of(
        f"""
def rows():
    yield 1.0
    yield 2.0

def take(it):
    a, b = it

def count(*items):
    return len(items)

class Box:
    pass

def f(x):
    it, box = {source}, Box()
    if x.sum() > 3:
        {UNPACKED[take]}
    return x, next(it, None)
""",
        "f",
        collections=collections,
        itertools=itertools,
    )


@pytest.mark.sampled(6)
@pytest.mark.parametrize("source", ["iter([1.0, 2.0])", "rows()"])
@pytest.mark.parametrize("take", UNPACKED)
def test_a_sequence_or_generator_is_unpacked_on_some_runs(take: str, source: str) -> None:
    """A1, A6: how far its iterator has come is known to the run, or it is refused."""
    function = unpacking(take, source)
    calls = tensor(1.0, 3.0), tensor(1.0, 1.0)
    static = d2s.to_static(function, full_graph=True)
    try:
        found = [static(x)[1] for x in calls * 2]
    except UnsupportedInGraphError as error:
        assert "the iterator" in str(error)  # noqa: PT017 - or none is raised
        return
    assert found == [function(x)[1] for x in calls * 2]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("take", UNPACKED)
def test_what_is_unpacked_on_some_runs_is_refused(take: str) -> None:
    """A1: Python moves the iterator by itself there; by default it is as in dygraph."""
    function = unpacking(take, "(k for k in [1.0, 2.0])")
    calls = tensor(1.0, 3.0), tensor(1.0, 1.0)
    with pytest.raises(UnsupportedInGraphError, match="the iterator"):
        d2s.to_static(function, full_graph=True)(calls[0])
    anyway = d2s.to_static(function, full_graph=False)
    with pytest.warns(d2s.errors.BreakWarning):
        found = [anyway(x)[1] for x in calls * 2]
    assert found == [function(x)[1] for x in calls * 2]


@pytest.mark.sampled(3, also=["added to a list"])
@pytest.mark.parametrize(
    "take",
    sorted(UNPACKED.keys() - {"in a function", "as arguments", "of an attribute", "of a list"}),
)
def test_what_is_unpacked_on_every_run(take: str) -> None:
    """A1: outside of branches Python does it, and in a branch for an iterator of its own."""
    lines = UNPACKED[take].replace("        ", "    ")
    function = function_of(
        f"""
class Box:
    pass

def f(x):
    it, box = iter([1.0, 2.0]), Box()
    {lines}
    if x.sum() > 3:
        it = iter([1.0, 2.0])
        {lines.replace(chr(10), chr(10) + "    ")}
        x = x + 1
    return x, next(it, None)
""",
        "f",
        collections=collections,
        itertools=itertools,
    )
    assert_same(function, tensor(1.0, 3.0), tensor(1.0, 1.0))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("later", ["sum(it)", "list(it)", "next(it)", "[k for k in it]"])
@pytest.mark.parametrize("take", TAKES)
def test_what_is_taken_on_some_runs(take: str, later: str) -> None:
    """A1: how far the iterator of a sequence has come is a number of the run behind the branch."""
    function = function_of(
        f"""
        def f(x):
            it = iter([1.0, 2.0, 3.0, 4.0])
            if x.sum() > 3:
                x = x * {take}
            return x, {later}
        """
    )
    assert_same(function, tensor(1.0, 3.0), tensor(1.0, 1.0))


def test_both_sides_of_a_branch_take() -> None:
    """A1: the second side begins where the iterator was before the branch."""
    function = function_of(
        """
        def f(x):
            it = iter([1.0, 2.0])
            if x.sum() > 3:
                return x * next(it)
            return x + next(it)
        """
    )
    assert_same(function, tensor(1.0, 3.0), tensor(1.0, 1.0))


@pytest.mark.parametrize(
    "loop",
    [
        "return [g.send(v) for v in x[x > 1]]",
        "y = []\n    for v in x[x > 1]:\n        y.append(g.send(v))\n    return y",
        "while x.sum() < 9:\n        x = x + 1 + g.send(x)\n    return x",
        "while x.sum() < 9:\n        x = x + 1 + next(g)\n    return x",
        "while x.sum() < 9:\n        for k in g:\n            x = x + k\n    return x",
    ],
)
def test_a_static_loop_drives_a_generator(loop: str) -> None:
    """A1: the generator keeps the values of one trip for the next one: refused, no crash."""
    function = function_of(SUMS + f"    {loop}", "f")
    with pytest.raises(UnsupportedInGraphError, match="the iterator 'g'"):
        d2s.to_static(function)(tensor(1.0, 3.0, 2.0))


def test_a_generator_that_is_sent_the_rows() -> None:
    """A1: a loop over known rows drives a generator as Python does."""
    function = function_of(
        """
        def f(x):
            def sums():
                total = 0.0
                while True:
                    total = total + (yield total)

            g = sums()
            next(g)
            found = [g.send(row) for row in (x[0], x[1], x[0] * 2)]
            g.close()
            return found
        """
    )
    assert_same(function, tensor(1.0, 3.0), tensor(2.0, 1.0))


ITERATORS = (
    *("enumerate([1, 2])", "zip([1, 2], [3, 4])", "map(abs, [1, 2])", "reversed([1, 2])"),
    *("filter(None, [1, 2])", "itertools.chain([1, 2])", "iter(collections.deque([1, 2]))"),
    *("reversed({1: 2})", "map(abs, (k for k in [1, 2]))"),
)


@pytest.mark.parametrize(
    "use", ["next(moving)", "list(moving)", "[k for k in moving]", "[*moving]"]
)
@pytest.mark.parametrize(
    "iterator",
    ["map(abs, [1, 2])", "filter(None, [1, 2])", "(k for k in [1, 2])", "zip(map(abs, [1, 2]))"],
)
def test_an_iterator_from_outside(iterator: str, use: str) -> None:
    """F4: it would go on in the capture alone, and there is no copy of it: refused."""
    function = function_of(
        f"import collections, itertools\n\nmoving = {iterator}\n\n\n"
        f"def f(x):\n    found = {use}\n    return x if found else x * 2\n"
    )
    with pytest.raises(UnsupportedInGraphError):
        d2s.to_static(function, full_graph=True)(tensor(1.0))


@pytest.mark.parametrize("iterator", ITERATORS[:-1])
def test_an_iterator_as_a_result(iterator: str) -> None:
    """F4: each run would give the same one, which the caller has used up."""
    function = function_of(
        f"import collections, itertools\n\n\ndef f(x):\n    return x, {iterator}\n"
    )
    with pytest.raises(UnsupportedInGraphError, match="each run would give the same one"):
        d2s.to_static(function, full_graph=True)(tensor(1.0))
    anyway = d2s.to_static(function, full_graph=False)
    with pytest.warns(d2s.errors.BreakWarning):
        found = [list(anyway(tensor(1.0))[1]) for _ in range(2)]
    assert found == [list(function(tensor(1.0))[1])] * 2
