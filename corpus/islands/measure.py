"""What becomes of the converted functions of a program, and what their calls cost.

A program runs once for its verdict, and once more to be measured: where a function that is not one
program is called, that call is first made many times by a conversion of its own
(``d2s.explain`` does the same), after which everything is as it was.
"""

from __future__ import annotations

import collections
import contextlib
import statistics
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

FUNCTIONS: Final = 3
"""So many functions of a program are measured."""

TRIES: Final = 6
"""So many calls of a function are tried: the first ones may be no more than one program."""

ROUNDS: Final = 61
"""So many pairs of rounds, one in dygraph and one as programs, are compared."""

LONGEST: Final = 20.0
"""Seconds for the rounds of one function."""


@dataclass
class Figures:
    """What was found of one program.

    Attributes:
        breaks: lines that need Python.
        programs: how many programs there are in place of one.
        inside, outside: operations that ran in a call of each function.
        ratios: the time of a call beside dygraph, a median for each function.
        extra_us: microseconds by which a call of the slowest one takes longer.
        left: why a function was not measured.
    """

    breaks: int = 0
    programs: int = 0
    inside: int = 0
    outside: int = 0
    ratios: list[float] = field(default_factory=list)
    extra_us: float = 0.0
    left: list[str] = field(default_factory=list)


@contextlib.contextmanager
def _at_calls(visit: Any) -> Iterator[None]:
    """Let ``visit(function, args, kwargs)`` see each call of a converted function from outside."""
    from d2s.program.static_function import StaticFunction

    before = StaticFunction.__call__
    busy = False

    def call(this: Any, /, *args: Any, **kwargs: Any) -> Any:
        nonlocal busy
        if busy:
            return before(this, *args, **kwargs)
        busy = True
        try:
            visit(this, args, kwargs)
            return before(this, *args, **kwargs)
        finally:
            busy = False

    type.__setattr__(StaticFunction, "__call__", call)
    try:
        yield
    finally:
        type.__setattr__(StaticFunction, "__call__", before)


class Collected:
    """The converted functions that a program calls."""

    def __init__(self) -> None:
        self.found: dict[int, Any] = {}

    def __enter__(self) -> Collected:
        self._calls = _at_calls(self._visit)
        self._calls.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._calls.__exit__(None, None, None)

    def _visit(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.found.setdefault(id(function.__dict__), function)

    def figures(self) -> tuple[Figures, frozenset[tuple[str, int]]]:
        """What became of them, and which ones are not one program."""
        figures = Figures()
        places = set()
        seen = set()
        for function in self.found.values():
            figures.programs += len(function.programs)
            if function.breaks:
                places.add(_place(function))
            for each in function.breaks:
                seen.add((each.file, each.line))
        figures.breaks = len(seen)
        return figures, frozenset(places)


def _place(function: Any) -> tuple[str, int]:
    code = getattr(function.d2s_original, "__code__", None)
    return ("", 0) if code is None else (code.co_filename, code.co_firstlineno)


@contextlib.contextmanager
def measuring(figures: Figures, places: frozenset[tuple[str, int]]) -> Iterator[None]:
    """Measure the first calls of the functions of these places."""
    tried: collections.Counter[tuple[str, int]] = collections.Counter()

    def visit(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        place = _place(function)
        known = place in tried or len(tried) < FUNCTIONS
        if place not in places or not known or tried[place] >= TRIES:
            return
        tried[place] += 1
        try:
            if _measure(figures, function, args, kwargs):
                tried[place] = TRIES
        except Exception as error:  # the program goes on; what is missing is said
            figures.left.append(f"{type(error).__name__}: {error}"[:160])

    with _at_calls(visit):
        yield


def _measure(
    figures: Figures, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> bool:
    """Measure a call; whether it was one that needs several programs."""
    from d2s.debug.facts.measuring import Session

    session = Session(function.dygraph_function, args, kwargs)
    if session.raised is not None or session.refused is not None:
        figures.left.append(f"a call raises {session.raised or session.refused}"[:160])
        return False
    if not session.converted.breaks:
        return False
    share = session.share()
    figures.inside += share.operations_inside
    figures.outside += share.operations_outside
    pairs = session.compared(ROUNDS, LONGEST, time.process_time)
    ratio = statistics.median(mine / max(plain, 1e-9) for plain, mine in pairs)
    figures.ratios.append(ratio)
    if ratio == max(figures.ratios):
        figures.extra_us = 1e6 * statistics.median(mine - plain for plain, mine in pairs)
    return True
