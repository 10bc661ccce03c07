"""The call stack that Paddle keeps of an operation, as the user's code has it.

It is text: lines of the form ``File "net.py", line 3, in forward``, from the outermost frame of the
process to Paddle's innermost.  What is left are the user's functions inside of the capture.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Final

from d2s.diagnostics.frames import (
    Call,
    forget_generator,
    is_structure_file,
    name_in_comprehension,
)
from d2s.diagnostics.location import Location, Span, is_helper, is_hidden, is_ours

_FRAME: Final = re.compile(r'^ *File "(.+)", line (\d+), in (.+)$')

_ENTRY: Final = "/d2s/program/"
"""In the files of what calls the user's function, to capture it or to have its gradients."""

_LAMBDA: Final = "<lambda>"

SpanOf = Callable[[Location, list[str]], "Span | None"]
"""Finds the columns of what a frame does, given the names of the functions that it has called."""


def _nowhere(place: Location, called: list[str]) -> Span | None:
    return None


def places_in_stack(lines: Iterable[str], span_of: SpanOf = _nowhere) -> list[Location]:
    """The user's frames among ``lines``, each function one frame, the outermost first.

    Args:
        lines: the call stack of an operation.
        span_of: finds columns.
    """
    matches = [found for found in map(_FRAME.match, lines) if found is not None]
    stack = [Location(found[1], int(found[2]), found[3]) for found in matches]
    return _users(stack[_begin(stack) :], span_of)


def _begin(stack: list[Location]) -> int:
    """The index of the first frame inside of the capture."""
    last = begin = 0
    for index, frame in enumerate(stack):
        if _ENTRY in frame.file and is_ours(frame.file):
            last = index + 1
        elif not is_hidden(frame.file):
            begin = last  # the user's code is called from there
    return begin


def _users(stack: list[Location], span_of: SpanOf) -> list[Location]:
    found: list[Location] = []
    ours: list[Call] = []  # since the last frame of the user's
    handed: list[int] = []
    for index, frame in enumerate(stack):
        if is_hidden(frame.file) or (ours and is_helper(frame.file)):
            ours.append((frame.file, frame.function))
            forget_generator(ours[-1], handed, found)
            continue
        placed = frame._replace(span=span_of(frame, _called(stack[index + 1 :])))
        inside = name_in_comprehension(ours)
        if found and ours and _is_part(frame, found[-1], ours[0][0]):
            placed = placed._replace(function=found.pop().function)
        elif found and inside is not None and frame.function == _LAMBDA:
            placed = placed._replace(function=inside or found.pop().function)
        found.append(placed)
        ours = []
    return found


def _is_part(frame: Location, outer: Location, operator: str) -> bool:
    """Whether ``frame`` runs a part of the function ``outer``, which has called ``operator``."""
    return (
        is_structure_file(operator)
        and frame.file == outer.file
        and frame.function in (outer.function, _LAMBDA)
    )


def _called(stack: list[Location]) -> list[str]:
    """Names of functions, up to the first one of the user's."""
    names = []
    for frame in stack:
        names.append(frame.function)
        if not is_hidden(frame.file):
            break
    return names
