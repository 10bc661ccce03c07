"""Positions: every generated node points at the *header* of the statement it came from.

The header of an ``if`` is its test, of a ``for`` its target and iterable, of a ``with`` its
items; of a simple statement the whole of it.  Because the code is compiled under the user's own
file name, tracebacks, breakpoints, coverage and Paddle's op call stacks then speak of the
user's lines by themselves (decision 0001).
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import gast

from d2s.syntax.trees import BACKWARDS


class Span(NamedTuple):
    """A stretch of the user's text: lines are 1-based, columns 0-based, as in ``ast``."""

    line: int
    column: int
    end_line: int
    end_column: int


def span_of(node: Any) -> Span:
    """The span that ``node`` carries."""
    values = node.__dict__
    line, column = node.lineno, node.col_offset
    end_column = values.get("end_col_offset")
    return Span(
        line,
        column,
        values.get("end_lineno") or line,
        column if end_column is None else end_column,
    )


_TESTED: Final = (gast.If, gast.While, gast.IfExp)
_ITERATED: Final = (gast.For, gast.AsyncFor)
_MANAGED: Final = (gast.With, gast.AsyncWith)
_WORDS: Final = (gast.FunctionDef, gast.AsyncFunctionDef, gast.ClassDef, gast.Try)
"""Statements whose header is taken to be the word that they begin with."""


def header(statement: Any) -> Span:
    """The span of the header of ``statement``, which is what its generated code points at.

    The header of a conditional expression is its test, which Python looks at first.
    """
    if isinstance(statement, _TESTED):
        return span_of(statement.test)
    if isinstance(statement, _ITERATED):
        first, last = span_of(statement.target), span_of(statement.iter)
        return Span(first.line, first.column, last.end_line, last.end_column)
    if isinstance(statement, gast.Match):
        return span_of(statement.subject)
    if isinstance(statement, _MANAGED):
        first = span_of(statement.items[0].context_expr)
        last = span_of(statement.items[-1].context_expr)
        return Span(first.line, first.column, last.end_line, last.end_column)
    if isinstance(statement, _WORDS):
        place = span_of(statement)
        return Span(place.line, place.column, place.line, place.column + 1)
    return span_of(statement)


PLACED: Final = (gast.stmt, gast.expr, gast.excepthandler, gast.pattern)
"""The nodes that have a position."""


def put(node: Any, span: Span) -> Any:
    """Give ``span`` to ``node`` alone."""
    node.lineno, node.col_offset, node.end_lineno, node.end_col_offset = span
    return node


def place(node: Any, span: Span, *, force: bool = False) -> Any:
    """Give ``span`` to ``node`` and to all below it that have no position yet (or to all).

    What stands below a node that has a position has one too: there it ends, unless forced.
    """
    stack = [node]
    while stack:
        child = stack.pop()
        values = child.__dict__
        if isinstance(child, PLACED):
            if force or values.get("lineno") is None:
                set_span(child, span)
            elif child is not node:
                continue
        for name in BACKWARDS[child.__class__]:
            value = values.get(name)
            if value.__class__ is list:
                stack += [item for item in value if item is not None]
            elif value is not None:
                stack.append(value)
    return node


def set_span(node: Any, span: Span) -> None:
    """Give ``span`` to a node of generated code."""
    put(node, span)
    if node.__class__ is gast.Attribute and span.end_line != span.line:
        # A call is put on the line where its attribute *ends* (CPython 3.11 and later).
        node.end_lineno, node.end_col_offset = span.line, span.column + 1
