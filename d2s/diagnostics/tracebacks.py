"""Tracebacks of the user's frames alone: cleaned ones, and ones for places of an earlier time.

What is raised while a program runs comes from nowhere in the user's Python: the places where the
program was made become frames of their own, by the method that Jinja2 uses for its templates.
"""

from __future__ import annotations

import ast
import ctypes
import linecache
import sys
import types
from collections.abc import Mapping, Sequence
from typing import Any, Final

from d2s.diagnostics.frames import of_traceback, users
from d2s.diagnostics.location import Location, Span, is_ours


def user_traceback(trace: types.TracebackType | None) -> types.TracebackType | None:
    """``trace`` with the user's frames only, each function one frame; ``None`` without any."""
    result: types.TracebackType | None = None
    for step in reversed(users(of_traceback(trace))):
        frame, lasti = step.frame, step.lasti
        if step.part is not None:  # an operand that waits has a frame with another name
            made = _standing_at(step.place, frame.f_locals)
            frame, lasti = made.tb_frame, made.tb_lasti
        result = types.TracebackType(result, frame, lasti, step.line)
    return result


def traceback_of(
    places: Sequence[Location], then: types.TracebackType | None = None
) -> types.TracebackType | None:
    """A traceback whose frames stand at ``places``, the outermost first.

    Args:
        places: what stands for each frame.
        then: what follows the last one.
    """
    result = then
    for place in reversed(places):
        made = _standing_at(place)
        result = types.TracebackType(result, made.tb_frame, made.tb_lasti, place.line)
    return result


def settled(trace: types.TracebackType | None) -> types.TracebackType | None:
    """The user's frames of ``trace`` as places only: the frames keep what they have seen alive."""
    return traceback_of(places_in(trace))


def places_in(trace: types.TracebackType | None) -> list[Location]:
    """Where the user's frames of ``trace`` stand."""
    return [step.place for step in users(of_traceback(trace))]


class _Signal(Exception):
    """Raised to make a frame."""


_MADE: Final = "<program>"
"""The module of frames that are made."""


def is_made(frame: types.FrameType) -> bool:
    """Whether ``frame`` is one of :func:`traceback_of`."""
    return frame.f_globals.get("__name__") == _MADE


def code_at(text: str, places: Sequence[Location]) -> types.CodeType:
    """The statements of ``text``, each compiled to stand at its place."""
    tree = ast.parse(text)
    for statement, place in zip(tree.body, places, strict=True):
        span = place.span or _whole_line(place)
        for node in ast.walk(statement):
            if isinstance(node, ast.stmt | ast.expr):
                node.lineno, node.end_lineno = place.line, span.end_line
                node.col_offset, node.end_col_offset = span.column, span.end_column
    first = places[0]
    code = compile(tree, first.file, "exec").replace(co_name=first.function)
    return code.replace(co_qualname=first.function) if sys.version_info >= (3, 11) else code


def _whole_line(place: Location) -> Span:
    """What Python underlines nothing for."""
    line = linecache.getline(place.file, place.line).rstrip()
    end = len(line.encode())
    return Span(place.line, end - len(line.lstrip().encode()), end)


def _standing_at(
    place: Location, variables: Mapping[str, Any] | None = None
) -> types.TracebackType:
    """A traceback of one frame, with local variables."""
    signal = _Signal()
    scope: dict[str, Any] = {"__name__": _MADE, "__d2s_signal__": signal}
    try:
        exec(code_at("raise __d2s_signal__", [place]), scope, dict(variables or {}))
    except _Signal as caught:
        trace = caught.__traceback__
        assert trace is not None
        assert trace.tb_next is not None
        return trace.tb_next
    raise AssertionError("unreachable: the code does nothing but raise")  # pragma: no cover


# -- what leaves d2s -----------------------------------------------------------------------------


def show_users_frames(error: BaseException) -> None:
    """Take the frames of d2s and Paddle out of ``error`` and what it was caused by.

    To be called while ``error`` is handled, before it is raised again by ``raise`` alone.
    Exceptions of ours that the user's is said to have come up "during the handling of" go, too.
    What was being handled when d2s was called stays as it is.
    """
    outside = _frames_around()
    seen: set[int] = set()
    pending = [error]
    while pending:
        each = pending.pop()
        if id(each) in seen or (each is not error and _began_in(each, outside)):
            continue
        seen.add(id(each))
        # Not by assignment: an exception may be a frozen data class.
        object.__setattr__(each, "__context__", _first_of_users(each.__context__, outside))
        kept = user_traceback(each.__traceback__)
        if each is error:
            raise_with(each, kept)
        else:
            object.__setattr__(each, "__traceback__", kept)
        name_tensors(each)
        pending += [other for other in (each.__cause__, each.__context__) if other is not None]
        pending += getattr(each, "exceptions", ()) if _is_group(each) else ()


def raise_with(error: BaseException, trace: types.TracebackType | None) -> None:
    """Let ``error``, which is being handled, be raised with ``trace`` by ``raise`` alone.

    Until Python 3.10 it takes the traceback that the exception was caught with.
    """
    object.__setattr__(error, "__traceback__", trace)
    if sys.version_info < (3, 11):
        for thing in (type(error), error, trace):  # the call takes over a reference to each
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))
        ctypes.pythonapi.PyErr_SetExcInfo(
            ctypes.py_object(type(error)), ctypes.py_object(error), ctypes.py_object(trace)
        )


VALUE: Final = "paddle.base.libpaddle.pir.Value"
"""The class of tensors of a program, as Python's messages name it."""


def name_tensors(error: BaseException) -> None:
    """Let the message of ``error`` say ``Tensor`` where Python has named a program's value."""
    if any(type(item) is str and VALUE in item for item in error.args):
        said = (item.replace(VALUE, "Tensor") if type(item) is str else item for item in error.args)
        object.__setattr__(error, "args", tuple(said))


def _frames_around() -> set[int]:
    """The frames that have called us, by id; those of d2s may be left, which no user handles in."""
    frame: types.FrameType | None = sys._getframe(1)
    found = set()
    while frame is not None:
        if not is_ours(frame.f_code.co_filename):
            found.add(id(frame))
        frame = frame.f_back
    return found


def _began_in(error: BaseException, frames: set[int]) -> bool:
    """Whether one of ``frames`` has caught ``error``: it is where its traceback begins."""
    trace = error.__traceback__
    return trace is not None and id(trace.tb_frame) in frames


def _first_of_users(error: BaseException | None, outside: set[int]) -> BaseException | None:
    """The first exception in a chain of contexts that is not one of our own affairs."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if (
            error.__traceback__ is None
            or _began_in(error, outside)
            or users(of_traceback(error.__traceback__))
        ):
            return error
        error = error.__context__
    return None


def _is_group(error: BaseException) -> bool:
    return sys.version_info >= (3, 11) and isinstance(error, BaseExceptionGroup)  # noqa: F821
