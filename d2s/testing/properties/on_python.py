"""What holds for every program on Python values; see ``properties``."""

from __future__ import annotations

import types
from typing import Any

from d2s import api, conversion
from d2s.passes.names import declarations
from d2s.pipeline import PIPELINE, transform
from d2s.syntax.source import source_of
from d2s.testing.program import Program
from d2s.testing.properties.observing import (
    captured,
    equal,
    fresh_state,
    lines_of,
    of_tree,
    outcome,
)
from d2s.testing.properties.spies import Spy


def same_as_python(program: Program) -> None:
    """A1: on Python values the converted function does what the original does, in its order."""
    _same_in_python(program, api.convert(program.function()))


def same_after_each_pass(program: Program) -> None:
    """A1: so does the function as each pass leaves it."""
    function = program.function()
    for count in range(1, len(PIPELINE)):
        passes = PIPELINE[:count]
        if declarations.PASS not in passes:  # bodies say what they write: part of the meaning
            passes = (*passes, declarations.PASS)
        trace = transform(source_of(function), resolve=conversion.resolver(function), passes=passes)
        try:
            _same_in_python(program, of_tree(function, trace))
        except AssertionError as error:
            raise AssertionError(f"after the pass {PIPELINE[count - 1].name!r}: {error}") from None


def converted_twice(program: Program) -> None:
    """A2: converting what is converted changes nothing, and the same text comes out each time."""
    function = program.function()
    once = api.convert(function)
    assert api.convert(once).__code__ is once.__code__, "converting again makes another function"
    texts = [api.code(function) for _ in range(2)]
    assert texts[0] == texts[1], f"the second text is another one:\n{texts[1]}"
    _same_in_python(program, api.convert(once))


def same_lines(program: Program) -> None:
    """F2: the converted function runs through the lines that the original runs through."""
    function = program.function()
    converted = api.convert(function)
    lines = _lines_of(program)
    for call in program.calls:
        ran = []
        for which in (function, converted):
            with fresh_state(function), captured():  # an exception ends the lines
                ran.append(lines_of(function.__code__.co_filename, lambda: which(*call)))  # noqa: B023
        want, got = ran[0] & lines, ran[1] & lines
        assert want == got, f"for {call}: lines {sorted(got)}, should be {sorted(want)}"


def _lines_of(program: Program) -> set[int]:
    """The lines that do something: with code, and with more than ``try:``."""
    found: set[int] = set()
    left = [compile(program.text, "program", "exec", dont_inherit=True)]
    while left:
        code = left.pop()
        found.update(line for _, _, line in code.co_lines() if line is not None)
        left += [item for item in code.co_consts if isinstance(item, types.CodeType)]
    texts = program.text.splitlines()
    return {line for line in found if line and texts[line - 1].strip() != "try:"}


def _same_in_python(program: Program, converted: Any) -> None:
    original = program.function()
    for call in program.calls:
        outcomes = []
        for function in (original, converted):
            log: list[str] = []
            spies = [Spy(value, log) if isinstance(value, float) else value for value in call]
            with fresh_state(function):
                kind, value, text = outcome(function, tuple(spies))
                state = {
                    name: thing.value if isinstance(thing, Spy) else thing
                    for name, thing in function.__globals__.items()
                    if name == "total"
                }
            outcomes.append((kind, value, text, list(log), state))
        want, got = outcomes
        equal(want[:3], got[:3], f"for {call}")
        assert want[4] == got[4], f"for {call}: state {got[4]}, should be {want[4]}"
        for number, (right, mine) in enumerate(zip(want[3], got[3], strict=False)):
            assert right == mine, f"for {call}: step {number} is {mine}, should be {right}"
        assert len(want[3]) == len(got[3]), f"for {call}: {len(got[3])} steps, not {len(want[3])}"
