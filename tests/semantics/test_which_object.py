"""``is`` where a tensor decides what is on either side, or on both (rule B5)."""

from __future__ import annotations

import enum
import itertools
import operator
from typing import Any

import pytest

import d2s
from d2s.errors import UnsupportedInGraphError
from tests.helpers import function_of, tensor


class Mode(enum.Enum):
    IDLE = 0
    UP = 1
    DOWN = 2


class Thing:
    pass


CALLS = [tensor(a, b) for a, b in itertools.product((1.0, -1.0), repeat=2)]

PAIRS = {
    "members of an enum": ("Mode.UP", "Mode.DOWN", "Mode.IDLE"),
    "objects from outside": ("first", "second", "third"),
    "texts": ("'up'", "'down'", "'idle'"),
    "types": ("int", "float", "str"),
    "None": ("None", "first", "second"),
    "own lists": ("p", "q", "r"),
    "own objects": ("m", "n", "first"),
    "truth values": ("True", "False", "None"),
    "truth values of the run": ("bool(x[1] > 0)", "None", "bool(x[0] > 0)"),
}


def held(function: Any) -> None:
    static = d2s.to_static(function, full_graph=True)
    for x in CALLS:
        assert static(x) == function(x)


def scope() -> dict[str, Any]:
    names = {name: Thing() for name in ("first", "second", "third")}
    return {"Mode": Mode, "Thing": Thing, "operator": operator, **names}


@pytest.mark.sampled(2, also=["truth values"])
@pytest.mark.parametrize(("one", "two", "three"), PAIRS.values(), ids=PAIRS)
def test_both_sides_are_chosen(one: str, two: str, three: str) -> None:
    """B5: true where the same object is chosen on both sides."""
    held(
        function_of(
            f"""
        def f(x):
            p, q, r = [x], [x], [x]
            m, n = Thing(), Thing()
            a = {one} if x[0] > 0 else {two}
            b = {one} if x[1] > 0 else {three}
            c = {three} if x[0] > 0 else {one}
            return (
                a is b, a is not b, b is c, c is a, a is {one}, {one} is a, {two} is not b,
                a is {three}, a is a, operator.is_(a, b), a is None, None is not b,
            )
        """,
            **scope(),
        )
    )


@pytest.mark.parametrize("head", ["for v in x:", "i = 0\n            while i < 2 + 0 * x.sum():"])
@pytest.mark.parametrize(("one", "two"), [("Mode.UP", "Mode.IDLE"), ("'up'", "'idle'")])
def test_how_often_a_mode_changes(head: str, one: str, two: str) -> None:
    """B5, C1: the mode of the last trip and that of this one are both chosen."""
    step = "v, i = x[i], i + 1\n                " if "while" in head else ""
    held(
        function_of(
            f"""
        def f(x):
            mode = {two}
            changes = 0
            {head}
                {step}new = {one} if v > 0.5 else {two}
                if new is not mode:
                    changes += 1
                mode = new
            return changes, mode
        """,
            **scope(),
        )
    )


def test_two_truth_values_of_the_run() -> None:
    """B5: each truth value is one object, as in Python."""
    held(
        function_of(
            """
        def f(x):
            a, b = bool(x[0] > 0), bool(x[1] > 0)
            return a is b, a is not b, a is True, False is b
        """
        )
    )


@pytest.mark.parametrize(
    "test", ["a is b", "b is a", "a is 3", "a is not b", "None is a or a is b"]
)
def test_two_numbers_of_the_run(test: str) -> None:
    """B5: which numbers are one object is a matter of Python's memory; refused."""
    lines = f"def f(x):\n    a, b = int(x[0]), int(x[1])\n    return {test}"
    with pytest.raises(UnsupportedInGraphError, match="compares two numbers") as caught:
        d2s.to_static(function_of(lines), full_graph=True)(CALLS[0])
    assert caught.value.line == 3
