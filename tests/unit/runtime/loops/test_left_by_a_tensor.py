"""Loops over Python values that a tensor ends, and what follows (rules C1, C5)."""

from __future__ import annotations

import pytest

import d2s
from d2s.errors import UnsupportedInGraphError
from tests.helpers import assert_same, function_of, tensor

POSITIVE, NEGATIVE, SMALL = tensor(1.0, 2.0), tensor(-1.0, 0.0), tensor(0.5, 0.25)


ENDLESS = """
import itertools

def f(x):
    seen = {seen}
    for i in {things}:
        x = x + {step}
        {record}
        if x.sum() > 20:
            break
    return x, i, seen
"""


@pytest.mark.parametrize(
    ("things", "step"),
    [
        ("itertools.count(3, 2)", "i"),
        ("itertools.count(9, -1)", "i"),
        ("itertools.cycle([1, 2, 4])", "i"),
        ("itertools.cycle([x * 0 + 1, x * 0 + 2])", "i"),
        ("itertools.cycle('ab')", "(1 if i == 'a' else 2)"),
        ("itertools.cycle([(1, 'a'), (2, 'b')])", "i[0]"),
    ],
)
@pytest.mark.parametrize("record", ["pass", "seen.append(x * 2)"])
def test_a_loop_that_only_the_run_ends(things: str, step: str, record: str) -> None:
    """C1, C5: the item of the last trip, and what the trips have kept."""
    text = ENDLESS.format(seen="[]", things=things, step=step, record=record)
    assert_same(function_of(text, "f"), POSITIVE, NEGATIVE)


def test_a_cycle_that_is_too_long() -> None:
    """C1: nobody can tell that its items come again."""
    text = ENDLESS.format(seen="0", things="itertools.cycle(range(100))", step="i", record="pass")
    with pytest.raises(UnsupportedInGraphError, match="for more than 64 trips") as caught:
        d2s.to_static(function_of(text, "f"))(POSITIVE)
    assert ":5: " in str(caught.value)


@pytest.mark.parametrize(
    ("things", "again"),
    [
        ("map(abs, [1, 2, 3])", "list(things)"),
        ("(v for v in [1, 2, 3])", "sum(things)"),
    ],
)
def test_an_iterator_is_used_after_a_break(things: str, again: str) -> None:
    """C1: how far it has come is known to the run only."""
    function = function_of(
        f"""
        import itertools

        def f(x):
            things = {things}
            for i in things:
                x = x + i
                if x.sum() > 20:
                    break
            return x, {again}
        """,
        "f",
    )
    with pytest.raises(UnsupportedInGraphError, match="leaves an iterator somewhere") as caught:
        d2s.to_static(function)(POSITIVE)
    assert ":5: " in str(caught.value)


@pytest.mark.parametrize("head", ["while k < 100_001:", "for _ in range(100_001):"])
def test_a_python_loop_that_seems_to_be_endless(head: str) -> None:
    """C1: one that a tensor is to end would be captured for ever."""
    function = function_of(f"""
    def f(x):
        k = 0
        {head}
            k += 1
        return x + k
    """)
    with pytest.raises(UnsupportedInGraphError, match="captured for 100000 trips") as caught:
        d2s.to_static(function)(POSITIVE)
    assert ":3: " in str(caught.value)


@pytest.mark.parametrize("state", ["d = {'a': x}", "d = Box(); d.a = x", "d = x"])
@pytest.mark.parametrize(
    ("bound", "trip"),
    [
        ("6", "if k == 3: limit = x.sum() + 5"),
        ("6", "if k == 4: break"),
        ("6", "pass"),
        ("2", "pass"),
        ("1", "pass"),
    ],
)
def test_what_follows_a_break_of_the_run(state: str, bound: str, trip: str) -> None:
    """C1: Python, or later a tensor, decides the condition of the trips that are left."""
    held = {"{": "d['a']", "B": "d.a", "x": "d"}[state[4]]
    function = function_of(
        f"""
        class Box:
            pass

        def f(x):
            {state}
            k, limit = 0, {bound}
            while k < limit:
                {held} = {held} + k
                k += 1
                if {held}.sum() > 8: break
                {trip}
            else:
                {held} = {held} * 100
            return {held}, k
        """,
        "f",
    )
    assert_same(function, POSITIVE, NEGATIVE)


def test_trips_behind_an_early_break_of_the_run() -> None:
    """C1: the later trips cannot be left any more."""

    def f(x):
        xs = [x]
        k = 0
        while k < 6:
            k += 1
            xs = [xs[0] + k]
            if k < 3:
                if xs[0].sum() > 5:
                    break
        else:
            xs = [x * 100]
        return xs, k

    assert_same(f, POSITIVE, NEGATIVE)
