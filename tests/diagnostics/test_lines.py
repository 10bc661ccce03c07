"""Converted code has the lines and columns of the user's text, and is seen to run the same lines.

Tracebacks, breakpoints, coverage and profilers work from these (decision 0001; rules A1 and F2).
"""

from __future__ import annotations

import ast
import contextlib
import linecache
import sys
import types
from collections.abc import Callable
from typing import Any

import pytest

import d2s
from d2s.conversion import convert_function
from d2s.syntax.positions import span_of
from tests.diagnostics.failing_texts import FAILING
from tests.diagnostics.lines import EVERY, codes_in, lines_in, visited
from tests.diagnostics.running_texts import VISITED
from tests.helpers import function_of


@pytest.mark.parametrize("name", EVERY)
def test_generated_code_has_no_lines_of_its_own(name: str) -> None:
    """Decision 0001: what coverage sees is a subset of the original's lines, in the same file."""
    function = function_of(EVERY[name], "f")
    converted = convert_function(function)
    assert lines_in(converted.__code__) <= lines_in(function.__code__)
    files = {code.co_filename for code in codes_in(converted.__code__)}
    assert files == {function.__code__.co_filename}


@pytest.mark.skipif(sys.version_info < (3, 11), reason="code has no columns before Python 3.11")
@pytest.mark.parametrize("name", EVERY)
def test_columns_are_those_of_the_text(name: str) -> None:
    """Decision 0001: what a traceback underlines is a piece of the user's code, never made up."""
    function = function_of(EVERY[name], "f")
    converted = convert_function(function)
    strange = spans_in(converted.__code__) - spans_of_text(function)
    assert not strange, sorted(strange)


def spans_in(code: types.CodeType) -> set[tuple[int, int, int, int]]:
    """Line, column, last line and column of each instruction that has them and is not empty."""
    found = set()
    for inner in codes_in(code):
        for line, last, column, end in inner.co_positions():
            if None not in (line, last, column, end) and (line, column) != (last, end):
                found.add((line, column, last, end))
    return found


def spans_of_text(function: Callable[..., Any]) -> set[tuple[int, int, int, int]]:
    """The spans of all that the text of ``function`` consists of."""
    lines = linecache.getlines(function.__code__.co_filename)
    tree = ast.parse("".join(lines))
    found = spans_in(compile(tree, "original", "exec"))  # the ends of attributes, handlers, ...
    for node in ast.walk(tree):
        if hasattr(node, "lineno"):
            span = span_of(node)
            found.add((span.line, span.column, span.end_line, span.end_column))
            # The name of an operator, for a call whose text has several lines.
            found.add((span.line, span.column, span.line, span.column + 1))
        if isinstance(node, ast.For):
            last = span_of(node.iter)
            found.add((node.target.lineno, node.target.col_offset, last.end_line, last.end_column))
    return found


@pytest.mark.parametrize("name", EVERY)
def test_functions_begin_where_they_are_defined(name: str) -> None:
    """A2: profilers and editors find a function by its name and first line."""
    function = function_of(EVERY[name], "f")
    converted = convert_function(function)

    def first_lines(code: types.CodeType) -> set[tuple[str, int]]:
        return {
            (inner.co_name, inner.co_firstlineno)
            for inner in codes_in(code)
            if not inner.co_name.startswith("<")
        }

    assert first_lines(function.__code__) <= first_lines(converted.__code__)


@pytest.mark.parametrize("name", FAILING)
def test_a_tracer_sees_no_line_that_is_not_run(name: str) -> None:
    """F2: the same; lines may be missing that Python 3.10 and 3.11 count and do not run."""
    function = function_of(FAILING[name], "f")
    converted = d2s.convert(function)
    file = function.__code__.co_filename
    for value in (1, 0, 3, -1):
        assert visited(file, converted, value) <= visited(file, function, value), value


@pytest.mark.skipif(sys.version_info < (3, 12), reason="sys.monitoring is of Python 3.12")
@pytest.mark.parametrize("name", VISITED)
def test_monitoring_sees_the_lines_of_the_original(name: str) -> None:
    """F2: the same for what debuggers and coverage use on newer Pythons."""
    text, values = VISITED[name]
    function = function_of(text, "f")
    converted = d2s.convert(function)
    file = function.__code__.co_filename
    for value in values:
        assert monitored(file, converted, value) == monitored(file, function, value), value


def monitored(file: str, call: Callable[..., Any], *arguments: Any) -> set[int]:
    """The lines of ``file`` that ``sys.monitoring`` reports while ``call`` runs."""
    seen: set[int] = set()
    monitoring = sys.monitoring  # type: ignore[attr-defined]

    def line_event(code: types.CodeType, line: int) -> None:
        if code.co_filename == file:
            seen.add(line)

    tool = monitoring.PROFILER_ID
    monitoring.use_tool_id(tool, "test")
    try:
        monitoring.register_callback(tool, monitoring.events.LINE, line_event)
        monitoring.set_events(tool, monitoring.events.LINE)
        with contextlib.suppress(Exception):
            call(*arguments)
    finally:
        monitoring.set_events(tool, 0)
        monitoring.free_tool_id(tool)
    return seen
