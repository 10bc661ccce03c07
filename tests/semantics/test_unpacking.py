"""``a, b = items`` and ``a, *rest = items`` where a tensor decides what the items are (D1, B2)."""

from __future__ import annotations

import re
import textwrap

import pytest

import d2s
from tests.helpers import assert_same, function_of, tensor

X = [
    tensor(3.0, 1.0, 2.0, 5.0),
    tensor(-1.0, 4.0, -2.0, 0.5),
    tensor(-1.0, -1.0, 1.0, -1.0),
    tensor(-1.0, -1.0, -1.0, -1.0),
]

BEGIN = {
    "g": "g = [v * 2 for v in x if v > 0]",
    "at": "at = paddle.nonzero(x > 0).flatten().tolist()",
    "d": "d = {i: x[i] for i in paddle.nonzero(x > 0).flatten().tolist()}",
    "z": "z = x.sum() * 0",
}

FORMS = {
    "two": "a, b = g\nreturn a - b * 3",
    "numbers": "a, b = at[:2]\nreturn a, b, x[a] * x[b]",
    "one": "(a,) = g\nreturn a * a",
    "in brackets": "[a, b] = at[-2:]\nreturn a + 10 * b",
    "a tuple": "a, b = tuple(g)\nreturn a * b",
    "nested": "(a, b), c = g[:2], x.sum()\nreturn a * b + c",
    "into an item": "got = {}\ngot['a'], got['b'] = g\nreturn got",
    "zip": "if len(g) == 2:\n    (a, k), (b, l) = zip(g, at)\n    return a * l\nreturn x",
    "keys": "(k,) = d\n((l, v),) = d.items()\nreturn k, l, v",
    "map": "a, b = map(lambda v: v + 1, g)\nreturn a * b",
    "in a branch": "if len(g) == 2:\n    a, b = g\n    return (a - b) * x.sum()\nreturn z",
    "in a for": "for k, (a, b) in enumerate([g[:2], g[-2:]]):\n    z = z + a * b * k\nreturn z",
    "in a while": (
        "n = 0\nwhile len(g) >= 2:\n    a, b = g[-2:]\n    del g[-2:]\n    g.append(a * b + 1)\n"
        "    n += 1\nreturn g, n"
    ),
    "and returned": (
        "for k in range(3):\n    h = [v for v in x if v > k]\n    if len(h) == 2:\n"
        "        a, b = h\n        return a * b, k\nreturn z, -1"
    ),
    "in a comprehension": "return [a * b for a, b in [g[:2], g[-2:]]]",
    "the first": "a, *rest = g\nreturn a, rest, len(rest)",
    "the last": "*rest, a = g\nrest.append(a * 2)\nreturn a, rest",
    "both ends": "a, *rest, b = g\nreturn a - b, rest",
    "of a tensor": "a, *rest = x[x > 0]\nreturn a, rest",
    "of keys": "a, *rest = d\nb, *more = d.items()\nreturn a, rest, b, more",
    "of zip": "(a, k), *rest = zip(g, at)\nreturn a * k, rest",
    "until none is left": "while at:\n    k, *at = at\n    z = z + x[k] * 2\nreturn z, at",
    "caught": "try:\n    a, b = g\nexcept ValueError as e:\n    return str(e)\nreturn a * b",
    "caught behind a star": (
        "try:\n    a, b, *c = g\nexcept ValueError as error:\n    return str(error)\nreturn a, b, c"
    ),
    "one of two": "h = [x[0], x[1]] if x[0] > 0 else [x[1], x[2], x[3]]\na, b = h\nreturn a - b",
    "the first of one of two": (
        "h = [x[0], x[1]] if x[0] > 0 else [x[1], x[2], x[3]]\na, *b = h\nreturn a, b"
    ),
    "one of two generators": (
        "ways = {'a': (0, 1), 'b': (1, 0)}\nway = ways['a' if x[2] > 0 else 'b']\n"
        "a, b = (p * q for p, q in zip((x[0], x[1]), way))\nreturn a, b"
    ),
    "all of one of two generators": (
        "ways = {'a': (0, 1), 'b': (1, 0)}\nway = ways['a' if x[2] > 0 else 'b']\n"
        "h = (p * q for p, q in zip((x[0], x[1]), way))\na, b = h\nreturn a, b, list(h)"
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_as_many_as_the_run_has(form: str) -> None:
    """D1, B2: the run raises what Python does where there are more or less."""
    words = set(re.findall(r"\w+", FORMS[form]))
    body = "\n".join([*(BEGIN[name] for name in BEGIN if name in words), FORMS[form]])
    text = "import paddle\n\ndef f(x):\n" + textwrap.indent(body, "    ")
    assert_same(function_of(text, "f"), *X)


def test_an_iterator_that_is_used_behind_the_branch() -> None:
    """F4: what a branch takes from it is known to the run only, so it is refused."""
    text = """
def f(x):
    ways = {"a": (0, 1), "b": (1, 0)}
    h = (p * q for p, q in zip((x[0], x[1]), ways["a" if x[2] > 0 else "b"]))
    a = b = x[0]
    if x[1] > 0:
        a, b = h
    return a, b, list(h)
"""
    with pytest.raises(d2s.errors.UnsupportedInGraphError, match="takes an item"):
        d2s.to_static(function_of(text, "f"), full_graph=True)(X[0])


PYTHONS = [
    "a, *b = [1, 2, 3]", "a, *b = 'xyz'", "*a, b = (x, 2)", "a, *b = iter([x])", "a, *b = x",
    "*a, b = {1: x}", "a, *b = []", "a, *b, c, e = [x]", "a, *b = 5", "*a, b = None",
]  # fmt: skip


@pytest.mark.parametrize("statement", PYTHONS)
def test_of_python_values_as_python_does(statement: str) -> None:
    """A1: the same parts, and the same words where there are too few."""
    text = f"def f(x):\n    {statement}\n    return a, b"
    assert_same(function_of(text, "f"), *X[:2])
