"""Positions: every generated node points at the *header* of the statement it came from.

The header of an ``if`` is its test, of a ``for`` its target and iterable, of a ``with`` its
items; of a simple statement the whole of it.  Because the code is compiled under the user's own
file name, tracebacks, breakpoints, coverage and Paddle's op call stacks then speak of the
user's lines by themselves (decision 0001).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import gast


@dataclass(frozen=True)
class Span:
    """A stretch of the user's text: lines are 1-based, columns 0-based, as in ``ast``."""

    line: int
    column: int
    end_line: int
    end_column: int


def span_of(node: Any) -> Span:
    """The span that ``node`` carries."""
    line = node.lineno
    column = node.col_offset
    return Span(
        line,
        column,
        getattr(node, "end_lineno", None) or line,
        column if getattr(node, "end_col_offset", None) is None else node.end_col_offset,
    )


def header(statement: Any) -> Span:
    """The span of the header of ``statement``, which is what its generated code points at.

    The header of a conditional expression is its test, which Python looks at first.
    """
    if isinstance(statement, gast.If | gast.While | gast.IfExp):
        return span_of(statement.test)
    if isinstance(statement, gast.For | gast.AsyncFor):
        first, last = span_of(statement.target), span_of(statement.iter)
        return Span(first.line, first.column, last.end_line, last.end_column)
    if isinstance(statement, gast.Match):
        return span_of(statement.subject)
    if isinstance(statement, gast.With | gast.AsyncWith):
        first = span_of(statement.items[0].context_expr)
        last = span_of(statement.items[-1].context_expr)
        return Span(first.line, first.column, last.end_line, last.end_column)
    if isinstance(statement, gast.FunctionDef | gast.AsyncFunctionDef | gast.ClassDef | gast.Try):
        place = span_of(statement)
        return Span(place.line, place.column, place.line, place.column + 1)
    return span_of(statement)


def put(node: Any, span: Span) -> Any:
    """Give ``span`` to ``node`` alone."""
    node.lineno, node.col_offset = span.line, span.column
    node.end_lineno, node.end_col_offset = span.end_line, span.end_column
    return node


def place(node: Any, span: Span, *, force: bool = False) -> Any:
    """Give ``span`` to ``node`` and to all below it that have no position yet (or to all)."""
    for child in gast.walk(node):
        if isinstance(child, gast.stmt | gast.expr | gast.excepthandler | gast.pattern) and (
            force or getattr(child, "lineno", None) is None
        ):
            put(child, span)
            if isinstance(child, gast.Attribute) and span.end_line != span.line:
                # A call is put on the line where its attribute *ends* (CPython 3.11 and later).
                child.end_lineno, child.end_col_offset = span.line, span.column + 1
    return node
