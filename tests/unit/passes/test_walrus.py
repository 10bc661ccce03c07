"""A walrus that may not be reached binds exactly where Python does (rules A1, B5)."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import d2s
from tests.helpers import function_of

EXPRESSIONS = [
    "f(a) and (w := f(b))",
    "f(a) or (w := f(b)) or f(3)",
    "f(a) and f(b) and (w := f(0)) or f(4)",
    "not (f(a) and (w := f(b)))",
    "(f(a) or (w := f(b))) and (k := f(w))",
    "(w := f(a)) if f(b) else (k := f(a))",
    "f(1) if (f(a) and (w := f(b))) else f(2)",
    "f(a) < f(b) < (w := f(2))",
    "a < b <= (a := f(2)) < f(3)",
    "f(a) and [w for _ in [1] if (w := f(b))]",
    "(f(a) and (w := f(b)), f(9))",
    "f(9) + (f(a) and (w := f(b)))",
    "a and (a := f(b)) and a",
    "f(a) and (w := g(b))",
]

STATEMENTS = {
    "value": "r = {}",
    "statement": "{}",
    "return": "return {}, w, k",
    "if": "if {}:\n        r = 'yes', w",
    "if else": "if {}:\n        r = 'yes'\n    else:\n        r = 'no'",
    "if that leaves": "if {}:\n        return 'yes', w, k\n    r = 'no'",
    "while": "n = 0\n    while (n := n + 1) < 4 and ({}):\n        r = n\n        b = 0",
    "while else": """
    n = 0
    while n < 4 and ({}):
        n += 1
        if n == 1:
            continue
        if a == 2:
            break
        b = 0
    else:
        r = 'else'""",
}


@pytest.mark.parametrize("statement", STATEMENTS)
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_python_values(expression: str, statement: str) -> None:
    """A1: values, names, exceptions, and each call once in Python's order."""
    log: list[Any] = []

    def f(value: Any) -> Any:
        log.append(value)
        return value

    def g(value: Any) -> Any:
        log.append("g")
        raise KeyError(value)

    text = STATEMENTS[statement].format(expression)
    function = function_of(
        f"def h(a, b):\n    r = w = k = 'init'\n    {text}\n    return r, a, b, w, k\n",
        "h",
        f=f,
        g=g,
    )
    converted = d2s.convert(function)

    def outcome(which: Any, a: int, b: int) -> Any:
        log.clear()
        try:
            return which(a, b), list(log)
        except Exception as error:
            return type(error), str(error), list(log)

    for a, b in itertools.product((0, 1, 2), (0, 1, 2)):
        assert outcome(function, a, b) == outcome(converted, a, b), (a, b)


def test_a_name_that_was_not_reached() -> None:
    """B2: it is unbound."""
    function = function_of("""
        def f(a):
            r = a and (w := 1)
            return r, w
    """)
    converted = d2s.convert(function)
    assert converted(5) == (1, 1)
    with pytest.raises(UnboundLocalError, match="'w'"):
        converted(0)


def test_a_walrus_in_a_body_that_reads_the_old_value() -> None:
    """A1: a walrus that is passed by does not hide what the variable held before."""
    function = function_of("""
        def f(a, q):
            for _ in range(1):
                pair = [a, 3 < a <= (q := 1)]
                return pair, q
    """)
    converted = d2s.convert(function)
    for a in (0, 4):
        assert converted(a, 7) == function(a, 7)


def test_where_the_frame_is_looked_at() -> None:
    """A1: ``locals()`` shows the variables of the text and no others."""
    function = function_of("""
        def f(a):
            r = a and (w := 2)
            match r:
                case 2 as two if two:
                    pass
            return sorted(locals())
    """)
    shown = d2s.convert(function)(1)
    assert [name for name in shown if name != "d2s"] == ["a", "r", "two", "w"]
