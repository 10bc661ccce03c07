"""A variable that is read while it is unbound, by a part of its function (rules A1, B2)."""

from __future__ import annotations

import textwrap

import paddle
import pytest

import d2s
from tests.helpers import function_of

BODIES = {
    "if": """
        if n > 0:
            y = z + 1
        z = n
        return z
    """,
    "else": """
        if n < 0:
            pass
        else:
            print(z)
        z = n
        return z
    """,
    "in a loop": """
        for i in range(3):
            if n > 0:
                z += 1
            else:
                z = 1
        return z
    """,
    "while": """
        while n > 0:
            n = n - z
        z = 1
        return z
    """,
    "deleted": """
        z = 1
        if n > 0:
            del z
            n = n + z
        return n
    """,
    "operand": """
        r = n > 0 and z
        z = 1
        return r
    """,
    "conditional expression": """
        r = z if n > 0 else n
        z = 1
        return r
    """,
    "caught": """
        try:
            if n > 0:
                n = z
        except UnboundLocalError as error:
            n = len(str(error))
        z = 1
        return n
    """,
    "a nested function": """
        def inner():
            return z
        if n > 0:
            n = inner()
        z = 1
        return n
    """,
    "a lambda": """
        if n > 0:
            n = (lambda: z)()
        z = 1
        return n
    """,
    "a variable around": """
        def inner():
            if n > 0:
                return z
        n = inner()
        z = 1
        return n
    """,
}


def outcome(function, value):
    """What a call returns, or raises."""
    try:
        result = function(value)
    except NameError as error:
        return type(error), str(error), error.__cause__
    return None if result is None else float(result)


@pytest.mark.parametrize("body", BODIES)
def test_the_exception_is_the_one_of_dygraph(body: str) -> None:
    """A1, B2: its type, its message; a function of the user's own reads a free variable."""
    f = function_of("def f(n):" + textwrap.indent(textwrap.dedent(BODIES[body]), "    "))
    assert outcome(d2s.convert(f), 3) == outcome(f, 3)
    static = d2s.to_static(f)
    for value in (1.0, -1.0, 1.0):
        x = paddle.to_tensor(value)
        if body == "while" and value < 0:
            continue  # a body that always raises raises when it is captured
        assert outcome(static, x) == outcome(f, x)
