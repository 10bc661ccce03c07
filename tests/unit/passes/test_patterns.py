"""Patterns that stay Python's, and cases that all return (rule B7)."""

from __future__ import annotations

from typing import Any

import pytest

import d2s
from tests.helpers import assert_same, function_of, tensor

PLUS, MINUS = tensor(1.0, 2.0), tensor(-1.0, -2.0)


def outcome(function: Any, *arguments: Any) -> str:
    """What a call gives or raises, a generator as the list of its items."""
    try:
        result = function(*arguments)
        return repr(list(result) if hasattr(result, "__next__") else result)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


class Point:
    __match_args__ = ("left", "right")

    def __init__(self, left: Any, right: Any = 0) -> None:
        self.left, self.right = left, right

    def __repr__(self) -> str:
        return f"Point({self.left}, {self.right})"


PAIRS = [(0, 1), (1, 0), (2, 3), (0, 0), (Point(1), 0), ((1, 2), 3)]


THINGS = [
    1, "a", 2.5, [3], [1, 2], ["a", 1], ["a", 2], [0, 3, 1], [3, 0, 1], (0, 0), Point(1),
    Point(3), [Point(1), 2], {"k": 0, "j": 1}, {"k": 0}, [1, ["b", 4]], [Point(2), [1, 2]],
]  # fmt: skip


MATCHES = {
    "the pair itself": ("v, w", PAIRS, ["(0, 1) as p: r = 1", "_: r = 2"]),
    "another part in each": ("v, w", PAIRS, ["(a, 0) | (0, a): r = 1", "_: r = 2"]),
    "other lengths": (
        "v, w", PAIRS, ["[a]: r = 1", "(a, b, p): r = 2", "{'a': 1}: r = 3", "(0, b): r = 4"],
    ),
    "structures in a pair": ("v, w", PAIRS, ["(0, [a]): r = 1", "(Point(a), b): r = 2"]),
    "positions of a class": ("v", THINGS, ["Point(a): r = 1", "int(b): r = 2"]),
    "a class of Python's": ("v", [1, "a"], ["Exception(a): r = 1", "int(b): r = 2"]),
    "no positions": ("v", [1, range(3)], ["range(a): r = 1", "int(b): r = 2"]),
    "inside of itself": ("v", THINGS, ["list([a]): r = 1", "int(b): r = 2"]),
    "named structures": (
        "v", THINGS,
        ["(Point(1) | Point(2)) as p: r = 1", "[(Point() | int()) as a, b]: r = 2",
         "[str() as a, (0 | 1)]: r = 3", "[[a, b] as p]: r = 4"],
    ),
    "places without a name": (
        "v", THINGS,
        ["[_, 0, b]: r = 1", "[0, _, b]: r = 2", "(0, *_): r = 3", "{'k': 0, 'j': _}: r = 4"],
    ),
    "classes before a structure": (
        "v", THINGS, ["[Point() | int(), [a, b]]: r = 1", "[int() | str(), _]: r = 2"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", MATCHES)
def test_patterns_that_stay_pythons(case: str) -> None:
    """B7, A1: what a pattern binds, and which case is taken, is Python's own."""
    subject, things, cases = MATCHES[case]
    lines = "".join(f"\n                case {line}" for line in cases)
    function = function_of(
        f"""
        def f(v, w):
            r = a = b = p = None
            match {subject}:{lines}
            return r, a, b, p
        """,
        Point=Point,
    )
    converted = d2s.convert(function)
    taken = set()
    for thing in things:
        v, w = thing if subject == "v, w" else (thing, None)
        want = outcome(function, v, w)
        assert outcome(converted, v, w) == want, thing
        taken.add(want[:3])
    assert len(taken) > 1


def returns_from_every_case(x, kind):
    match kind:
        case {"scale": scale}:
            return x * scale if x.sum() > 0 else x
        case [first, *_]:
            return x + first
        case _:
            return -x


def test_a_match_whose_cases_all_return() -> None:
    """B6: the last case fits whatever the subject is, so that nothing can follow."""
    kinds = [{"scale": 2.0}, [3.0, 1.0], None]
    assert_same(returns_from_every_case, *[(x, kind) for x in (PLUS, MINUS) for kind in kinds])
