"""Where the first difference from dygraph is: what the probes of a statement look at (rule A5)."""

from __future__ import annotations

import linecache

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
