"""``break``, ``continue``, ``return`` and ``raise`` on either side of an ``if`` (rules A1, B6)."""

from __future__ import annotations

from typing import Any

import pytest

import d2s
from tests.helpers import assert_same, scalar, tensor

PLUS, MINUS = tensor(1.0, 2.0), tensor(-1.0, -2.0)


TRIPS = [(PLUS, 3), (MINUS, 3), (PLUS, scalar(3)), (MINUS, scalar(3)), (PLUS, scalar(0))]


def outcome(function: Any, *arguments: Any) -> str:
    """What a call gives or raises, a generator as the list of its items."""
    try:
        result = function(*arguments)
        return repr(list(result) if hasattr(result, "__next__") else result)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def goes_on_in_the_else(x, n):
    for i in range(n):
        x = x + i
        if x.sum() > 3:
            x = x * 2
        else:
            continue
        x = x - 0.5
    return x


def breaks_in_the_else(x, n):
    for i in range(n):
        if x.sum() > 3:
            x = x * 2
        else:
            x = x + 1
            break
        x = x - i
    return x


def returns_in_the_else(x, n):
    if x.sum() > n:
        x = x + 1
    else:
        return x * 3
    x = x * 2
    return x


def raises_before_more(x, n):
    for _ in range(n):
        if x.sum() > 3:
            continue
        raise ValueError("too small")
        x = x + 1
    return x


def leaves_a_try_with_an_else(x, n):
    for i in range(n):
        try:
            x = x + i
            if x.sum() > 3:
                continue
            if x.sum() < -100:
                break
        except KeyError:
            x = x * 100
        else:
            x = x * 2
        x = x - 0.25
    return x


@pytest.mark.parametrize(
    "function",
    [
        goes_on_in_the_else,
        breaks_in_the_else,
        returns_in_the_else,
        leaves_a_try_with_an_else,
    ],
)
def test_the_side_that_leaves_comes_second(function) -> None:
    """C1, B6: ``else: continue`` and its like leave the rest of the block to the first side."""
    assert_same(function, *TRIPS)


def test_what_stands_behind_a_raise_does_not_run() -> None:
    """F1: the trip ends at the ``raise``, at its line."""
    for x, n in TRIPS:
        report = d2s.check(raises_before_more, x, n)
        assert report.ok, report
    assert_same(raises_before_more, *TRIPS[1:2])


def stops_behind_a_yield(xs, stop):
    count = 0
    for x in xs:
        yield x, count
        count += 1
        if stop:
            break


def stops_a_while_behind_a_yield(xs, stop):
    while xs:
        yield xs.pop()
        if stop:
            break


def test_a_loop_that_stays_python_keeps_the_break_at_its_end() -> None:
    """A6: a generator's loop is Python's, ``if stop: break`` included."""
    for function in (stops_behind_a_yield, stops_a_while_behind_a_yield):
        converted = d2s.convert(function)
        for stop in (False, True):
            want = outcome(function, [1, 2, 3], stop)
            assert outcome(converted, [1, 2, 3], stop) == want
            assert len(want) > 2
