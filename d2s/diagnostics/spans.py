"""Columns of what a line has done, found in the code of the function.

The call stack that Paddle keeps of an operation knows lines only.  Of the instructions on a line
the one is meant that has called what comes next in the stack; none where that is not sure.
"""

from __future__ import annotations

import ast
import dis
import linecache
import sys
import types
from collections.abc import Iterable, Iterator
from typing import Final

from d2s.diagnostics.location import Location, Span

_OPERATORS: Final = ("BINARY_OP", "COMPARE_OP", "CONTAINS_OP", "UNARY_", "IS_OP")
_SUBSCRIPTS: Final = (
    *("BINARY_SUBSCR", "BINARY_SLICE", "STORE_SUBSCR", "STORE_SLICE"),
    "DELETE_SUBSCR",
)
_AS_OPERATOR: Final = frozenset({"operator", "compare", "in_", "not_in"})
"""Functions of ours that stand for an operator of the user's."""

_AS_SUBSCRIPT: Final = frozenset({"getitem", "setitem", "delitem"})
_LAMBDA: Final = "<lambda>"

_NAMELESS: Final = frozenset({_LAMBDA, "layer"})
"""Functions that are not called by their name: ``layer`` is ours, for any layer."""


def span_of(codes: Iterable[types.CodeType], place: Location, called: list[str]) -> Span | None:
    """Where the expression at ``place`` ends, and its columns; ``None`` where that is not sure.

    Args:
        codes: functions among which that of ``place`` is; inner ones are found.
        place: file, line and function.
        called: names of functions that it has called: one, and what that has called in turn.
    """
    if sys.version_info < (3, 11) or not called:
        return None
    kinds: tuple[str, ...] = ("CALL",)
    if called[0] in _AS_OPERATOR:
        kinds = _OPERATORS
    elif called[0] in _AS_SUBSCRIPT:
        kinds = _SUBSCRIPTS
    found = {
        span
        for code in codes
        for inner in _all(code)
        if inner.co_filename == place.file and place.function in (inner.co_name, _LAMBDA)
        for span in _spans(inner, place.line, kinds)
    }
    if kinds == ("CALL",) and not (len(found) == 1 and called[0] in _NAMELESS):
        found = {span for span in found if _callee(place, span) in called}
    return found.pop() if len(found) == 1 else None


def _all(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _all(constant)


def _spans(code: types.CodeType, line: int, kinds: tuple[str, ...]) -> Iterator[Span]:
    if sys.version_info < (3, 11):
        return
    for instruction in dis.get_instructions(code):
        if not instruction.opname.startswith(kinds):
            continue
        at = instruction.positions
        if at is None or at.lineno != line or at.end_lineno is None:
            continue
        if at.col_offset is not None and at.end_col_offset is not None:
            yield Span(at.end_lineno, at.col_offset, at.end_col_offset)


def _callee(place: Location, span: Span) -> str | None:
    """The name by which the call at ``span`` calls."""
    lines = [
        linecache.getline(place.file, line).encode()
        for line in range(place.line, span.end_line + 1)
    ]
    lines[-1] = lines[-1][: span.end_column]  # first the end: both may be one line
    lines[0] = lines[0][span.column :]
    try:
        tree = ast.parse(b"(" + b"".join(lines) + b")", mode="eval").body
    except (SyntaxError, ValueError):  # another text by now
        return None
    function = tree.func if isinstance(tree, ast.Call) else None
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else None
