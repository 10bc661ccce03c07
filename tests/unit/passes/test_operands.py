"""Operands that are bound to variables are evaluated as Python does it (rule A1)."""

from __future__ import annotations

from typing import Any

import pytest

from d2s.conversion import bound, convert_function
from tests.helpers import function_of

EXPRESSIONS = [
    "(f(a), f(b))",
    "f(a) + f(b) * f(3)",
    "[a, f(b), {f(1): f(2), 'k': f(3)}, {f(4)}]",
    "f(f(a), f(b), k=f(3), m=(f(4), f(5)))",
    "f(a) < f(b)",
    "f(a) < f(b) < f(3)",
    "(f(a) or f(b), f(3))",
    "(f(a) and f(b)) + f(3)",
    "f(1) if f(a) else f(b)",
    "(f(1), f(2) if f(a) else f(3), f(4))",
    "[f(v) for v in range(f(a))] + [f(b)]",
    "(f(a), *[f(b), f(3)], f(4))",
    "f(a, *[f(b)], **{'k': f(3)})",
    "o[f(a)][f(b):f(3)]",
    "o[f(a), f(b)]",
    "o.at(f(a)).at(f(b) + o[f(3)])",
    "f(g(a), f(b))",
    "(f(a), g(b), f(3))",
    "f'{f(a)} {f(b)!r}'",
    "f(a)(f(b))",
    "(lambda v: f(v) + f(b))(f(a))",
    "-f(a) ** f(b)",
    "o.n + o.more() + o.n",
    "a + c + move() + c",
    "o.state.act(o.advance())",
    "o.state.act(o.state.at(o.advance()), o.state.n)",
]

STATEMENTS = {
    "value": "r = {}",
    "statement": "{}",
    "return": "return {}, 1",
    "if": "if {}:\n        r = 'yes'\n    else:\n        r = 'no'",
    "while": "while {}:\n        r = f(9)\n        break",
    "while else": "while {}:\n        r = f(9)\n        break\n    else:\n        r = f(8)",
    "for": "for v in [{}]:\n        r = v",
    "with an operator": "r += str({})",
    "an attribute with an operator": "o.s += str({})",
    "of an item": "o.d[f(7), 1] = {}\n    r = o.d",
}


class State:
    """Acts, and says so."""

    def __init__(self, log: list[Any], n: str) -> None:
        self.log, self.n = log, n

    def act(self, *given: Any) -> int:
        self.log.append((self.n, given))
        return 1

    at = act


class Thing:
    """Says what is asked of it."""

    def __init__(self, log: list[Any]) -> None:
        self.log, self.n, self.s, self.d, self.state = log, 1, "", {}, State(log, "old")

    def at(self, key: Any) -> Any:
        self.log.append(("at", key))
        return self

    __getitem__ = at

    def __add__(self, other: Any) -> str:
        return f"{other}"

    __repr__ = __str__ = lambda self: "thing"

    def __call__(self, *given: Any, **named: Any) -> Any:
        self.log.append((given, named))
        return self

    def advance(self) -> int:
        self.state = State(self.log, "new")
        return 3

    def more(self) -> int:
        self.n += 1
        return self.n


@pytest.mark.parametrize("statement", STATEMENTS)
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_python_values(expression: str, statement: str) -> None:
    """A1: values, exceptions, and each call once in Python's order."""
    log: list[Any] = []

    def f(*given: Any, **named: Any) -> Any:
        log.append((given, named))
        if given == (2,):
            raise KeyError(given)
        return given[0] if expression != "f(a)(f(b))" else f

    def g(value: Any) -> Any:
        log.append("g")
        raise ValueError(value)

    text = STATEMENTS[statement].format(expression)
    function = function_of(
        "def h(a, b, o):\n"
        "    c = 1\n"
        "    def move():\n        nonlocal c\n        c = c * 10\n        return c\n"
        f"    r = 'init'\n    {text}\n    return r, a, b, c, o.n, o.s\n",
        "h",
        f=f,
        g=g,
    )
    converted = convert_function(function, pipeline=bound("usual"))

    def outcome(which: Any, a: int, b: int) -> Any:
        log.clear()
        try:
            return str(which(a, b, Thing(log))), str(log)
        except Exception as error:
            return type(error), str(error), str(log)

    for a, b in ((0, 1), (1, 0), (3, 1), (1, 2), (2, 1)):
        assert outcome(function, a, b) == outcome(converted, a, b), (a, b)


def test_where_the_frame_is_looked_at() -> None:
    """A1: ``locals()`` shows the variables of the text and no others."""
    function = function_of("""
        def f(a):
            r = abs(a), abs(-a)
            return sorted(locals()), r
    """)
    assert convert_function(function, pipeline=bound("usual"))(1)[0] == ["a", "r"]
