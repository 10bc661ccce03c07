"""Lists that a loop in a helper grows, and that its caller knows (rules B2, C3)."""

from __future__ import annotations

import itertools
from collections import deque
from typing import Any

import paddle
import pytest

import d2s
from d2s.errors import D2SError
from tests.helpers import assert_same, function_of, tensor

INPUTS = (tensor(3.0, 1.0, 2.0), tensor(1.0, 2.0, 4.0), tensor(0.5, 0.25, -1.0))

LOOPS = {
    "left by a break": """
            k = paddle.to_tensor(0)
            while True:
                if k >= x.max():
                    break
                r.append(x.sum() + 1.0)
                k = k + 1
                {read}""",
    "of a tensor": """
            k = paddle.to_tensor(0)
            while k < x.max():
                r.append(x.sum() + 1.0)
                k = k + 1
                {read}""",
    "of a tensor, in a branch": """
            k = paddle.to_tensor(0)
            while k < x.max():
                if k > 0:
                    r.append(x.sum() + 1.0)
                k = k + 1
                {read}""",
    "in a loop": """
            k = paddle.to_tensor(0)
            while k < 2:
                j = paddle.to_tensor(0)
                while True:
                    if j > k:
                        break
                    r.append(x.sum() + 1.0)
                    j = j + 1
                    {read}
                k = k + 1""",
}

HOLDERS = {
    "the same name": ("r = {made}; box = Box([x.sum()])", "r", "r, box.rows"),
    "another name": ("rows = {made}; box = Box([x.sum()])", "rows", "rows, box.rows"),
    "an attribute": ("box = Box({made})", "box.rows", "box.rows"),
    "an attribute and a name": ("box = Box({made}); r = box.rows", "box.rows", "r, box.rows"),
    "an item": ("box = Box([x.sum()]); d = {{'a': {made}}}", "d['a']", "d['a'], box.rows"),
    "two names": ("r = {made}; s = r; box = Box(s)", "s", "r, s, box.rows"),
}


class Box:
    """Holds a list, and counts it."""

    def __init__(self, rows: Any) -> None:
        self.rows = rows

    def count(self) -> int:
        """How many there are."""
        return len(self.rows)


def program(loop: str, holder: str, made: str, read: str) -> Any:
    """A function that hands a list to a helper with a loop."""
    make, given, left = HOLDERS[holder]
    return function_of(
        f"""
        def g(r, x, box):
            q = paddle.zeros([]){LOOPS[loop].format(read=read)}
            return q
        def f(x):
            {make.format(made=made)}
            q = g({given}, x, box)
            return q, {left}
        """,
        paddle=paddle,
        deque=deque,
        Box=Box,
    )


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("loop", "holder"), itertools.product(LOOPS, HOLDERS))
@pytest.mark.parametrize("made", ["[]", pytest.param("deque([x.max()])", marks=pytest.mark.slow)])
def test_the_caller_sees_what_was_appended(made: str, loop: str, holder: str) -> None:
    """C3: under each name."""
    assert_same(program(loop, holder, made, "pass"), *INPUTS)


def right_or_refused(function: Any) -> None:
    """Hold ``function`` against dygraph: as one program it may be refused, with a line."""
    for full_graph in (True, False):
        converted = d2s.to_static(function, full_graph=full_graph)
        for x in INPUTS:
            refused = None
            try:
                found = str(converted(x))
            except D2SError as error:
                refused = error
            if refused is None:
                assert found == str(function(x))
            else:
                assert full_graph, refused
                assert refused.line is not None


@pytest.mark.slow
@pytest.mark.parametrize(("loop", "holder"), itertools.product(LOOPS, HOLDERS))
def test_it_is_read_under_another_name_in_the_loop(loop: str, holder: str) -> None:
    """C3: as it is in that trip, or refused; always right as several programs."""
    right_or_refused(program(loop, holder, "[x.max()]", "q = q + box.count()"))


HELPERS = {
    "appends, then leaves": """
            for k in range({trips}):
                r.append(x.sum() + k)
                if x.sum() + k > 8:
                    break""",
    "leaves, or appends": """
            for k in range({trips}):
                if x.sum() + k > 8:
                    break
                r.append(x.sum() + k)""",
    "returns": """
            for k in range({trips}):
                r.append(x.sum() + k)
                if x.sum() + k > 8:
                    return k""",
}

PLACES = {
    "the same name": ("r = []", "r"),
    "another name": ("rows = [x.max()]", "rows"),
    "an attribute": ("box = Box([])", "box.rows"),
    "an item": ("d = {'a': []}", "d['a']"),
}

CALLS = {
    "at once": "q = g({given}, x)",
    "in a branch": "q = -1\n            if x.sum() > 5: q = g({given}, x)",
    "in a loop": "for j in range(3): q = g({given}, x + j)",
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "call", ["at once", *(pytest.param(each, marks=pytest.mark.slow) for each in [*CALLS][1:])]
)
@pytest.mark.parametrize(("helper", "place"), itertools.product(HELPERS, PLACES))
@pytest.mark.parametrize("trips", [pytest.param(4, marks=pytest.mark.slow), 40])
def test_a_helper_that_goes_over_a_range(trips: int, helper: str, place: str, call: str) -> None:
    """C1, C3: the caller sees what was appended, wherever it calls; few trips may be refused."""
    make, given = PLACES[place]
    function = function_of(
        f"""
        def g(r, x):
            {HELPERS[helper].format(trips=trips).strip()}
            return -1
        def f(x):
            {make}
            {CALLS[call].format(given=given)}
            return q, {given}, len({given})
        """,
        Box=Box,
    )
    attribute = (helper, place, call) == ("leaves, or appends", "an attribute", "in a branch")
    if trips < 8 or attribute:  # trips that are captured one by one, in branches
        right_or_refused(function)
    else:
        assert_same(function, *INPUTS)
