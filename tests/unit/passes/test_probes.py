"""Where the first difference from dygraph is: what the probes of a statement look at (rule A5)."""

from __future__ import annotations

import linecache
import sys

import pytest

import d2s
from tests.helpers import function_of, tensor


@pytest.mark.parametrize(
    "statement",
    [
        "y.add_(x * WRONG)",
        "y += x * WRONG",
        "y = y + x * WRONG",
        "y[0] = WRONG",
        "box.value = x * WRONG",
        "box.value.add_(x * WRONG)",
        "y, z = y * WRONG, x",
    ],
)
def test_the_line_that_differs_first(statement: str) -> None:
    """The report names the statement that changes something else in the program than in dygraph."""

    class Box:
        def __init__(self) -> None:
            self.value = tensor(1.0, 1.0)

    statement = statement.replace("WRONG", "(1.0 if paddle.in_dynamic_mode() else 2.0)")
    function = function_of(
        f"""
def f(x, box):
    y = x * 1
    {statement}
    z = y.sum() + box.value.sum()
    return z
""",
        "f",
    )
    report = d2s.check(function, tensor(1.0, 2.0), Box())
    assert not report.ok
    text = str(report)
    assert linecache.getline(function.__code__.co_filename, 3).strip() == statement
    assert f"{function.__code__.co_filename}:3" in text
    assert statement in text


@pytest.mark.parametrize("statement", ["y", "...", "y + 1", "(lambda: y)()", "[y][0]"])
def test_a_statement_that_changes_nothing(statement: str) -> None:
    """A5: an expression of any kind; nothing behind it differs."""
    function = function_of(f"""
        def f(x):
            y = x * 2
            {statement}
            return y
    """)
    assert d2s.check(function, tensor(1.0, 2.0)).ok


@pytest.mark.skipif(sys.version_info < (3, 11), reason="except* came with Python 3.11")
def test_the_handler_of_a_group_that_is_taken() -> None:
    """A5: the report names the handler that dygraph takes, and the program does not."""
    function = function_of("""
        def f(x):
            y = x * 1
            try:
                [][0 if paddle.in_dynamic_mode() else slice(0)]
            except* IndexError:
                y = x * 2
            return y
    """)
    report = d2s.check(function, tensor(1.0, 2.0))
    assert not report.ok
    assert f"{function.__code__.co_filename}:5" in str(report)
    assert "except* IndexError:" in str(report)
