"""Frames as the user's code has them: ours and Paddle's left out, parts of one function as one.

A converted ``if`` or loop runs its body in a function of its own, which an operator calls; so
does an operand that waits, a lambda.  In the user's code both are the function around them.
"""

from __future__ import annotations

import dis
import functools
import sys
import types
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Final, NamedTuple

from d2s.diagnostics.location import Location, Span, is_helper, is_hidden, is_ours

_STRUCTURES: Final = (
    "calls.managers",
    "control_flow.cond",
    "control_flow.effects",
    "control_flow.raises",
    "control_flow.try_",
    "loops.for_",
    "loops.for_sources",
    "loops.while_",
    "loops.while_loop",
    "python.generators",
    "python.logic",
    "python.texts",
)
"""Modules of operators that run parts of one function, written by passes as functions."""

_MODULES: Final = frozenset(f"d2s.runtime.{name}" for name in _STRUCTURES)
_FILES: Final = tuple(f"/d2s/runtime/{name.replace('.', '/')}.py" for name in _STRUCTURES)

_COMPREHENSIONS: Final = "/d2s/runtime/loops/comprehensions.py"
_HANDING: Final = "/d2s/runtime/python/generators.py"
_ISLANDS: Final = "/d2s/program/islands/island.py"

_LAMBDA: Final = "<lambda>"


class Step(NamedTuple):
    """One frame on the way to an error, or to the present line.

    Attributes:
        frame: the frame.
        lasti: the instruction in it that runs; -1 if the line is all that is known.
        line: the line.
        function: the name of the function that the user wrote.
        part: code of the same function that has come to the line, and its instruction.
    """

    frame: types.FrameType
    lasti: int
    line: int
    function: str
    part: tuple[types.CodeType, int] | None = None

    @property
    def place(self) -> Location:
        """Where it is, without the frame, which keeps objects alive."""
        code, lasti = self.part or (self.frame.f_code, self.lasti)
        return Location(code.co_filename, self.line, self.function, span_of(code, lasti))


def of_traceback(trace: types.TracebackType | None) -> Iterator[Step]:
    """The frames of a traceback, the outermost first."""
    while trace is not None:
        yield _step(trace.tb_frame, trace.tb_lasti, trace.tb_lineno)
        trace = trace.tb_next


def of_stack(frame: types.FrameType | None, outside: types.FrameType | None) -> Iterator[Step]:
    """The frames of a thread, the outermost first.

    Args:
        frame: the innermost.
        outside: the first one that does not count, from there on outwards.
    """
    found = []
    while frame is not None and frame is not outside:
        found.append(_step(frame, frame.f_lasti, frame.f_lineno))
        frame = frame.f_back
    return reversed(found)


def users(steps: Iterable[Step]) -> list[Step]:
    """The frames of the user's and of libraries, as the functions were written.

    Args:
        steps: all frames, the outermost first.
    """
    kept: list[Step] = []
    codes: list[types.CodeType] = []
    called: list[Call] = []  # of ours, since the last one kept
    handed: list[int] = []
    for step in steps:
        code = step.frame.f_code
        if is_hidden(code.co_filename) or (called and is_helper(code.co_filename)):
            called.append((code.co_filename, code.co_name))
            forget_generator(called[-1], handed, kept, codes)
            continue
        thunks = bool(called) and is_structure_file(called[0][0])
        name = name_in_comprehension(called)
        if kept and step.frame is kept[-1].frame and not _raises(kept[-1]):
            kept[-1] = step  # raised again, by a handler that has no frame of its own any more
        elif kept and (
            is_same_function(code, codes[-1], thunks=thunks) or _is_island(code, codes[-1], called)
        ):
            kept[-1] = _within(kept[-1], step)
        elif kept and name is not None and any(item is code for item in codes[-1].co_consts):
            part = code, step.lasti
            if name:
                kept.append(Step(step.frame, -1, step.line, name, part))
                codes.append(code)
            else:
                kept[-1] = Step(kept[-1].frame, -1, step.line, kept[-1].function, part)
        else:
            kept.append(step)
            codes.append(code)
        codes[-1] = code
        called = []
    return kept


def _is_island(code: types.CodeType, around: types.CodeType, called: list[Call]) -> bool:
    """Whether ``code`` is of an island that the driver ``around`` has called."""
    same = (code.co_name, code.co_filename) == (around.co_name, around.co_filename)
    return same and any(is_ours(file) and file.endswith(_ISLANDS) for file, _ in called)


def _raises(step: Step) -> bool:
    """Whether a ``raise`` of the user's stands where ``step`` is."""
    return dis.opname[step.frame.f_code.co_code[step.lasti]] == "RAISE_VARARGS"


Call = tuple[str, str]
"""File and name of a function of ours."""


def forget_generator(call: Call, handed: list[int], *found: list[Any]) -> None:
    """Leave out the frames of a generator whose item a loop was handed: it has not called the loop.

    Args:
        call: a function of ours.
        handed: how many frames were found before each generator around.
        found: the frames, and what is known of each.
    """
    file, name = call
    if name not in ("hand_all", "taking") or not file.endswith(_HANDING):
        return
    if name == "hand_all":
        handed.append(len(found[0]))
    elif handed:
        count = handed.pop()
        for each in found:
            del each[count:]


def name_in_comprehension(called: list[Call]) -> str | None:
    """What Python calls the frame of a comprehension's part, "" for the function around it.

    Args:
        called: what of ours is between the frame and the one around it.

    Returns:
        The name; ``None`` if the frame is of no comprehension.
    """
    names = [name for file, name in called if is_ours(file) and file.endswith(_COMPREHENSIONS)]
    if not names:
        return None
    if "generator" in names or "_lazily" in names:
        return "<genexpr>"
    return "<listcomp>" if sys.version_info < (3, 12) else ""


def is_augmented_here() -> bool:
    """Whether the user's code is at an assignment such as ``+=``."""
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and is_hidden(frame.f_code.co_filename):
        frame = frame.f_back
    return frame is not None and frame.f_lasti in _augmented(frame.f_code)


@functools.lru_cache(maxsize=1024)
def _augmented(code: types.CodeType) -> frozenset[int]:
    """Where the instructions of assignments such as ``+=`` are."""
    return frozenset(
        step.offset
        for step in dis.get_instructions(code)
        if step.opname.startswith("INPLACE_")  # Python 3.10
        or (step.opname == "BINARY_OP" and step.argrepr.endswith("="))
    )


def is_structure(frame: types.FrameType) -> bool:
    """Whether ``frame`` is of an operator that runs parts of one function."""
    return str(frame.f_globals.get("__name__", "")) in _MODULES


def is_structure_file(file: str) -> bool:
    """The same for the file of a frame."""
    return is_ours(file) and file.endswith(_FILES)


def is_same_function(code: types.CodeType, around: types.CodeType, *, thunks: bool) -> bool:
    """Whether ``code`` is a part of the function ``around``, which a pass has written.

    Args:
        code: of a body, or of an operand that waits.
        around: the code that it stands in.
        thunks: a function without a name is an operand that waits.
    """
    if not any(item is code for item in around.co_consts):
        return False
    if code.co_name == around.co_name and sys.version_info >= (3, 11):
        return code.co_qualname == around.co_qualname or (thunks and code.co_name == _LAMBDA)
    return thunks if code.co_name == _LAMBDA else code.co_name == around.co_name


def is_part(code: types.CodeType, around: types.CodeType) -> bool:
    """The same of parts that have the name of the function, as bodies have."""
    return is_same_function(code, around, thunks=False)


def _within(outer: Step, inner: Step) -> Step:
    """``outer`` at the line that ``inner``, a part of its function, has come to."""
    if inner.frame.f_code.co_name == outer.function:
        return inner
    # A frame keeps its name: a lambda's cannot stand for the function that it is written in.
    part = inner.frame.f_code, inner.lasti
    return Step(outer.frame, -1, inner.line, outer.function, part)


def _step(frame: types.FrameType, lasti: int, line: int) -> Step:
    return Step(frame, lasti, line, frame.f_code.co_name)


def span_of(code: types.CodeType, lasti: int) -> Span | None:
    """Where the expression of an instruction ends, and its columns (Python 3.11 and later)."""
    if sys.version_info < (3, 11) or lasti < 0:
        return None
    positions = next(islice(code.co_positions(), lasti // 2, None), None)
    if positions is None:
        return None
    _, end_line, column, end_column = positions
    if end_line is None or column is None or end_column is None:
        return None
    return Span(end_line, column, end_column)
