"""Conversion costs what the text costs, whatever its form: counted in calls, not in time."""

from __future__ import annotations

import ast
import math
import sys
from collections.abc import Iterable
from typing import Any, Final

import pytest

from d2s.pipeline import transform
from d2s.syntax.depth import deep
from d2s.syntax.load import compile_tree
from d2s.syntax.plain import to_gast
from d2s.syntax.source import FunctionSource


def function(lines: Iterable[str]) -> str:
    return "def f(x):\n" + "".join(f"    {line}\n" for line in [*lines, "return x"])


def rows(template: str, count: int, *first: str) -> str:
    """``template`` so many times, with ``#`` as its number."""
    parts = (template.replace("#", str(index)) for index in range(count))
    return function([*first, *(line for part in parts for line in part.split("\n    "))])


def nest(template: str, count: int) -> str:
    """``template``, two lines of which the second is inside, so often in itself."""
    parts = (template.replace("#", str(level)).split("\n") for level in range(count))
    lines = [" " * level + line for level, part in enumerate(parts) for line in part]
    return function([*lines, " " * count + "x = x * 2"])


FORMS: Final = {
    "lines": lambda n: rows("x = x * #.5 - 1.0", n),
    "variables": lambda n: rows("y# = x * #.5", n),
    "branches": lambda n: rows("if x.sum() > #:\n        x = x * 0.5", n),
    "loops": lambda n: rows("while x.sum() < #:\n        x = x + y#", n),
    "elif": lambda n: rows("elif x.max() > #:\n        x = x * #.5", n, "if x: x = x + 1"),
    "early returns": lambda n: rows("if x.sum() > #:\n        return x * #.5", n),
    "continue": lambda n: rows(
        "    if x.sum() > #:\n            continue\n        x = x + #.5", n, "for i in range(3):"
    ),
    "nested branches": lambda n: nest("if x.sum() > #:\n x = x + #.5", n),
    "nested loops": lambda n: nest("while x.sum() < #:\n x = x + #.5", n),
}


def steps(text: str) -> int:
    """How many calls a conversion of ``text`` makes, those of built-in functions too."""
    tree = ast.parse(text).body[0]
    names: dict[str, Any] = {}
    exec(compile(text, "<text>", "exec"), names)
    count = 0

    def note(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    source = FunctionSource(text, to_gast(tree), "<text>", 1, "f")
    before = sys.getprofile()
    sys.setprofile(note)
    try:
        with deep():
            trace = transform(source, check=False)
            compile_tree(trace.tree, (trace.namespace,), names["f"].__code__, trace.generated)
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("form", FORMS)
def test_conversion_is_linear(form: str) -> None:
    """A5: twice the text, twice the work; whoever asks again at each level of a nest makes it four.

    Python itself takes no more than 20 loops inside of each other.
    """
    write = FORMS[form]
    size = 8 if form == "nested loops" else 40
    steps(write(2))  # what is made once: templates, tables of fields
    exponent = math.log2(steps(write(2 * size)) / steps(write(size)))
    assert exponent < 1.3
