"""What a static loop carries that is no plain tensor all the way (rules B4, C3, C4)."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest

import d2s
from d2s.errors import ContainerInGraphError, LoopMismatchError
from tests.helpers import assert_same, function_of, tensor

POSITIVE, NEGATIVE, SMALL = tensor(1.0, 2.0), tensor(-1.0, 0.0), tensor(0.5, 0.25)


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
            r"'v' may be a set \(one of 2\) where a static loop begins",
        ),
    ],
)
def test_what_no_loop_can_carry(begin: str, trip: str, kind: Any, words: str) -> None:
    """C4: a coded error at the loop."""
    with pytest.raises(kind, match=words) as caught:
        d2s.to_static(carrying(begin, trip, bound="3"))(POSITIVE)
    assert f":{TRIP_LINE}: " in str(caught.value)
