"""Which operands wait while a frame is in a call."""

from __future__ import annotations

import sys
import types
from typing import Any

import pytest

from d2s.syntax.waiting import UNKNOWN, operands

CASES: dict[str, list[list[str]]] = {
    "g(y)": [[]],
    "return y, g(y)": [["y"]],
    "two(y, g(y))": [["two", "y"]],
    "two(y, s.rows, g(1))": [["two", "y", "s.rows"]],
    "d2s.call(two)(y, d2s.call(g)(y))": [["two", "y"]],
    "d2s.call(s.rows.append)(d2s.call(g)(y))": [["s.rows.append"]],
    "s.rows.append(g(y))": [["s.rows.append"]],
    "for k in y:\n    g(k)": [[]],
    "for k in y:\n    two(z, g(k))": [["two", "z"]],
    "with s as q:\n    g(1)": [[]],
    "with s:\n    for k in y:\n        two(z, g(k), G, g(2))": [
        ["two", "z"],
        ["two", "z", UNKNOWN, "G"],
    ],
    "try:\n    g(1)\n    1 / 0\nexcept Exception as e:\n    two(y, g(3))\nfinally:\n    g(4)": [
        [],
        ["two", "y"],
        [],
    ],
    "[g(v) for v in y]": [[]],
    "[(z, g(v)) for v in y]": [["z"]],
    "{v: g(v) for v in y}": [["v"]],
    "f'{y} {g(y)}'": [[]],
    "y + [g(y)]": [["y"]],
    "two(*[y, g(y)])": [["two", "y"]],
    "two(a=y, b=g(z))": [["two", "y"]],
    "x = y if g(1) else g(2)": [[]],
    "y and g(y)": [[]],
    "y[g(0) - 1]": [["y"]],
    "s.a = g(y)": [[]],
    "(lambda a: two(a, g(a)))(y)": [["two", "a"]],
    "y == g(y)": [["y"]],
    "return [y, {'k': z, 'j': g(y)}]": [["y", "z"]],
    "return (y, 1), g(y)": [[UNKNOWN]],
    "two(y[0], g(y))": [["two", UNKNOWN]],
    "two(two(y), g(y))": [["two", UNKNOWN]],
    "n += g(y)": [["n"]],
    "two(n, 'a', 1.5, g(y))": [["two", "n"]],
    "assert g(y), g(y)": [[]],
    "while g(y) and n > 2:\n    n -= 1\n    two(y, g(z))": [[], ["two", "y"], []],
}


class Thing:
    """What the code uses."""

    def __init__(self) -> None:
        self.rows = [1]

    def __enter__(self) -> Thing:
        return self

    def __exit__(self, *raised: object) -> bool:
        return False


@pytest.mark.parametrize("text", CASES)
def test_operands(text: str) -> None:
    """A1: those of the expression, whatever the Python, and nothing that a statement keeps."""
    found: list[list[str]] = []

    def g(*given: Any) -> int:
        found.append(operands(sys._getframe(1)))
        return 1

    lines = "\n".join(f"    {line}" for line in ["n = 3", *text.split("\n")])
    scope: dict[str, Any] = {
        "g": g,
        "two": lambda *given, **named: 1,
        "G": [1],
        "d2s": types.SimpleNamespace(call=lambda function: function),
    }
    exec(f"def f(y, z, s):\n{lines}", scope)
    scope["f"]([1], [2], Thing())
    assert found == CASES[text]
