"""Loops that are seldom written, and what they carry (rules C1, C2, C4, C5)."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest

import d2s
from d2s.errors import ContainerInGraphError, LoopMismatchError, UnsupportedInGraphError
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
        ("itertools.count()", "next(things)"),
        ("iter([1, 2, 3])", "list(things)"),
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


CARRIED = """
import collections
import dataclasses

Pair = collections.namedtuple("Pair", "a b")

@dataclasses.dataclass(frozen=True)
class Data:
    a: object
    b: object

@dataclasses.dataclass
class Other:
    a: object
    b: object

def f(x):
    {begin}
    n = paddle.zeros([])
    while n < {bound}:
        {trip}
        n = n + 1
    return {result}
"""
TRIP_LINE = 19
"""On which line of that text the loop stands."""


def carrying(begin: str, trip: str, result: str = "v", bound: str = "x.sum()") -> Any:
    """A function whose loop gives ``v`` another value in each trip."""
    trip = textwrap.indent(trip, " " * 8).lstrip()
    return function_of(
        CARRIED.format(begin=begin, trip=trip, result=result, bound=bound),
        "f",
    )


@pytest.mark.parametrize(
    ("begin", "trip", "result"),
    [
        ("v = x.sum()", "v = 7", "v, isinstance(v, int), type(v) is int"),
        ("v = x.sum() > 9", "v = 7", "v"),
        ("v = x.sum().astype('int64') + 20", "v = v // 2", "v, v + 1"),
        ("v = x.sum()", "v = (v - 1).reshape([1])", "v"),
        ("v = 1", "v = v * 1.5", "v, type(v)"),
        ("v = True", "v = v + 1", "v, type(v)"),
        ("v = 1", "v = 2 if n > 1 else 3.5", "v"),
        ("v = (1, x)", "v = (2 if n > 1 else 3.5, x * n)", "v"),
        ("v = 0", "v = v + x", "v"),
    ],
)
def test_a_number_and_a_tensor_take_turns(begin: str, trip: str, result: str) -> None:
    """C4: the value and the kind that dygraph has, after some trips and after none."""
    assert_same(carrying(begin, trip, result), POSITIVE, NEGATIVE, SMALL)


@pytest.mark.parametrize(
    ("begin", "trip"),
    [
        ("v = None", "if v is None: v = x * n\nif n > 1: v = None"),
        ("v = None", "w = v\nv = x * n\nx = x + (0 if w is None else w * 0)\nv = None"),
        ("v = None", "v = x if v is None else (x, n)"),
        ("v = None", "v = 1 if v is None else v + x"),
        ("v = None", "v = 1 if v is None else v * 1.5"),
        ("v = None", "v = x if v is None else v.astype('float64') * 1.1"),
        ("v = None", "v = x if v is None else paddle.concat([v, x])"),
        ("v = None", "v = x if v is None else paddle.concat([v, x]) if n > 1 else x[:1]"),
        ("pass", "if n > 1: v = (x, n)\nelif n > 0: v = x"),
        ("pass", "v = n if n > 0 else n * 2"),
        ("v = None if x.sum() > 0 else x", "v = x * n"),
        ("if x.sum() > 0: v = None", "v = x * n"),
        ("v = None", "v = Data(x, n)"),
        ("v = 'text'", "v = [x, n]"),
        ("pass", "v = {'a': x, 'b': [n, {'c': n}]}"),
        ("v = 'text'", "v = Pair(x, [n, {'c': n}])"),
        ("v = 'text'", "v = (x, x) if n > 1 else (x[:1], x)"),
    ],
)
def test_a_variable_gets_its_value_in_the_loop(begin: str, trip: str) -> None:
    """C3, C4: it was ``None``, text, or not bound, and may be so again."""
    assert_same(carrying(begin, trip), POSITIVE, NEGATIVE, SMALL)


@pytest.mark.parametrize(
    ("begin", "trip", "result"),
    [
        ("v = collections.deque([x, x * 2])", "v.append(v[0] + n); v.popleft()", "list(v)"),
        ("v = collections.deque([x, x * 2])", "v[0] = v[1] + n; v.rotate(1)", "list(v)"),
        ("v = collections.deque([x, x])", "v = collections.deque([v[1], v[0] + n])", "list(v)"),
        ("v = Other(x, x * 2)", "v = Other(v.b, v.a + n)", "v.a, v.b"),
        ("v = Data(x, 1)", "v = Data(v.a + n, v.b + 1)", "v"),
        ("v = Data(x, 1)", "v = dataclasses.replace(v, a=v.a + n)", "v"),
        ("v = Data(x, 1)", "v = Other(v.a + n, v.b)", "v"),
        ("v = Data(x, 1)", "v = x", "v"),
        ("v = Data(x, 1)", "v = None", "v"),
        ("v = (x, 1)", "v = 'done'", "v"),
        ("v = (x, 1)", "v = (x, 1, n) if n > 0 else (x, 2)", "v"),
        ("v = (x, 1)", "v = (x, 1, n)", "v"),
        ("v = (x, 1)", "v = [x, n]", "v"),
        ("v = (x, 1)", "v = {'a': x}", "v"),
        ("v = 'a' if x.sum() > 0 else (x, 1)", "v = (paddle.concat([x, x]), 1)", "v"),
        ("v = {1, 2}", "x = x + len(v)", "x, v"),
        ("v = {'s': {1, 2}, 'x': x}", "v['x'] = v['x'] + len(v['s'])", "v"),
    ],
)
def test_a_structure_that_a_loop_replaces(begin: str, trip: str, result: str) -> None:
    """B4, C4: of the same form, of another one, in place or anew."""
    assert_same(carrying(begin, trip, result, "2"), POSITIVE, NEGATIVE)


@pytest.mark.parametrize(
    ("begin", "trip", "kind", "words"),
    [
        ("v = None", "v = x if v is None else v.unsqueeze(0)", LoopMismatchError, "changes 'v'"),
        ("v = (x,)", "v = (v,)", LoopMismatchError, r"changes 'v\[0\]' to a tuple"),
        ("v = {1, 2}", "v = {1, 2}", LoopMismatchError, "changes 'v' from a set to a set"),
        (
            "v = {1} if x.sum() > 0 else {2}",
            "v = v",
            ContainerInGraphError,
            "'v' may be a set or a set where a static loop begins",
        ),
    ],
)
def test_what_no_loop_can_carry(begin: str, trip: str, kind: Any, words: str) -> None:
    """C4: a coded error at the loop."""
    with pytest.raises(kind, match=words) as caught:
        d2s.to_static(carrying(begin, trip, bound="3"))(POSITIVE)
    assert f":{TRIP_LINE}: " in str(caught.value)
