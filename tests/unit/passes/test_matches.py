"""``match`` on Python values is Python's own, whatever the pass makes of it (rules A1, B7)."""

from __future__ import annotations

import dataclasses
import enum
import sys
from typing import Any

import pytest

import d2s
from tests.helpers import function_of


class Phase(enum.IntEnum):
    WARM = 0
    COLD = 2


@dataclasses.dataclass
class Pair:
    left: Any
    right: Any


class Noisy:
    """A value that notes each comparison."""

    def __init__(self, value: Any, log: list[Any]) -> None:
        self.value, self.log = value, log

    def __eq__(self, other: object) -> bool:
        self.log.append((self.value, other))
        return bool(self.value == other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"Noisy({self.value!r})"


def outcome(function: Any, log: list[Any], *arguments: Any) -> Any:
    log.clear()
    try:
        return repr(function(*arguments)), list(log)
    except Exception as error:
        return type(error), str(error), list(log)


CASES = {
    "literals": ("case 0: r = 0", "case -1 | 2.5: r = 1", "case 'a' | b'b': r = 2"),
    "one is true": ("case 1: r = 'one'", "case True: r = 'true'", "case _: r = 'other'"),
    "true is not one": ("case True: r = 'true'", "case False: r = 'no'", "case 0 | 1: r = 'int'"),
    "none": ("case None: r = 'none'", "case 0: r = 'zero'"),
    "dotted names": ("case Phase.WARM: r = 1", "case Phase.COLD: r = 2"),
    "classes": ("case bool(): r = 'b'", "case int() | float(): r = 'n'", "case Pair(): r = 'p'"),
    "the class of itself": ("case int(0 | 1 as n): r = n", "case str(n) | list(n): r = (n, n)"),
    "captures stay": ("case int(n) if t(n, False): r = n", "case _: r = 'n is', n"),
    "guards in order": ("case n if t('a', n == 2): r = n", "case n if t('b', n): r = -1"),
    "a guard without captures": ("case 0 | 2 if t('g', v): r = 1", "case 2: r = 2"),
    "a guard that raises": ("case int() if v.missing: r = 1", "case _: r = 2"),
    "sequences": ("case [0, y]: r = y", "case [y, 0, *z]: r = (y, z)", "case [*z]: r = z"),
    "nested sequences": ("case [[1, a], int(b)]: r = (a, b)", "case [0, [a]]: r = a"),
    "mappings": ("case {'k': 0, **z}: r = z", "case {'k': Phase.COLD as y}: r = y"),
    "fields": ("case Pair(0, y): r = y", "case Pair(left=y, right=2): r = y"),
    "mixed": ("case [a]: r = a", "case 0: r = 'zero'", "case {'k': a}: r = a", "case 2: r = 'two'"),
    "the subject is bound": ("case [v, 0] if t(v, v): r = v", "case [_, _]: r = ('second', v)"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_python_values(name: str) -> None:
    """A1: result, exception, what is compared and asked, and in which order."""
    log: list[Any] = []

    def t(tag: Any, value: Any) -> Any:
        log.append(("guard", repr(tag)))
        return value

    lines = "\n".join(f"                {line}" for line in CASES[name])
    function = function_of(
        f"""
        def f(v):
            r = n = "none of them"
            match v:
{lines}
            return r, n, v
        """,
        "f",
        Phase=Phase,
        Pair=Pair,
        t=t,
    )
    converted = d2s.convert(function)
    plain = [0, 1, 2, -1, 2.5, True, False, None, "a", b"b", Phase.WARM, Phase.COLD]
    nested = [[], [0], [0, 5], [5, 0], [5, 0, 7], [[1, 2], 3], [[1, 2], "x"], [0, [4]], (0, 2)]
    others = [{"k": 0, "m": 1}, {"k": 2}, {}, Pair(0, 7), Pair(7, 2), Pair(1, 1), {1}]
    noisy = [Noisy(0, log), Noisy(2, log), [Noisy(0, log), Noisy(0, log)], Pair(Noisy(0, log), 2)]
    for value in [*plain, *nested, *others, *noisy]:
        assert outcome(function, log, value) == outcome(converted, log, value), repr(value)


def test_a_tuple_is_taken_apart_once() -> None:
    """A1: what stands in the subject is evaluated once and in order, also where nobody asks."""
    log: list[Any] = []

    def t(value: Any) -> Any:
        log.append(value)
        return value

    function = function_of(
        """
        def f(a, b):
            match t(a), b, t(9):
                case 0, 1, _:
                    return "first"
                case (0 | 2) as n, m, 9 if m:
                    return n, m
                case _:
                    return "other"
        """,
        "f",
        t=t,
    )
    converted = d2s.convert(function)
    for a in (0, 1, 2):
        for b in (0, 1, 5):
            assert outcome(function, log, a, b) == outcome(converted, log, a, b)


def test_an_unbound_subject() -> None:
    """A1: a variable that is not bound raises before any pattern is asked."""
    function = function_of("""
        def f(x):
            if x:
                y = x
            match x, y:
                case 0, 1:
                    return 0
                case _:
                    return 1
    """)
    converted = d2s.convert(function)
    assert converted(3) == 1
    with pytest.raises(NameError, match="'y'"):
        converted(0)


def test_a_class_that_hides_a_built_in() -> None:
    """A1: ``int(n)`` of a class of that name takes the class apart."""
    function = function_of(
        """
        def f(v):
            match v:
                case int(n):
                    return "taken apart", n
                case isinstance():
                    return "a class"
            return "other"
        """,
        "f",
        int=Pair,
        isinstance=str,
    )
    converted = d2s.convert(function)
    for value in (Pair(1, 2), 3, "text"):
        assert converted(value) == function(value)


def test_a_long_match_stays_python() -> None:
    """A1: hundreds of cases would be hundreds of functions inside each other."""
    cases = "\n".join(f"        case {i}: return {-i}" for i in range(300))
    function = function_of(f"def f(k):\n    match k:\n{cases}\n", "f")
    assert d2s.convert(function)(299) == -299
    assert "case 299:" in d2s.code(function)


def lines_of(function: Any, file: str, value: Any) -> set[int]:
    """The lines of ``file`` that a debugger is told of while ``function(value)`` runs."""
    found: set[int] = set()

    def trace(frame: Any, event: str, given: Any) -> Any:
        if frame.f_code.co_filename != file:
            return None
        if event == "line":
            found.add(frame.f_lineno)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function(value)
    finally:
        sys.settrace(before)
    return found


def test_a_debugger_comes_to_the_line_of_the_match() -> None:
    """F2, A1: also where the first pattern is nothing but one value to compare with."""
    function = function_of("""
        def f(k):
            match k:
                case 1:
                    return "one"
                case 2 | 3:
                    return "more"
            return "other"
    """)
    file = function.__code__.co_filename
    converted = d2s.convert(function)
    converted(0)  # converting is over
    for value in (1, 3, 5):
        want = lines_of(function, file, value)
        assert lines_of(converted, file, value) == want
        assert 2 in want
