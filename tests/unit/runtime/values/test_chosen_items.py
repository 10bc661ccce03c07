"""Items, attributes and slots of what a branch has chosen, read and changed (rules B4, E1, F3)."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import d2s
from d2s.errors import (
    D2SError,
    InplaceError,
)
from tests.helpers import assert_same, function_of, tensor

POSITIVE, NEGATIVE, SMALL = tensor(1.0, 2.0), tensor(-1.0, 0.0), tensor(0.5, 0.25)


def body(text: str, **scope: Any) -> Any:
    """A function ``f(x)`` with this body."""
    lines = "".join(f"    {line}\n" for line in text.splitlines())
    return function_of(f"def f(x):\n{lines}", "f", itertools=itertools, **scope)


def refused(text: str, kind: type[D2SError], words: str, line: int, **scope: Any) -> None:
    """A direct call of the function with this body is refused, at this line of it."""
    with pytest.raises(kind, match=words) as caught:
        d2s.to_static(body(text, **scope))(POSITIVE)
    assert f":{line + 1}: " in str(caught.value)


CHOSEN = "if x.sum() > 0:\n    k = {}\nelse:\n    k = {}\n"


@pytest.mark.parametrize(
    "text",
    [
        CHOSEN.format(1, 0) + "y = paddle.stack([x, x * 2])\nreturn y[k, 1], y[k:, 0], y[0, k:]",
        CHOSEN.format(1, None) + "y = paddle.stack([x, x * 2])\nreturn y[k:], y[:, :k], y[k]",
        CHOSEN.format("[x, x * 2]", "(x, x + 1, 4)") + "return k[1], k[int(x.max() > 1.5)]",
        CHOSEN.format(1, "x") + "return type(k) is int, isinstance(k, (int, (str, float)))",
        "return isinstance(x, (int, (paddle.Tensor, float))), isinstance(x, int | str)",
        CHOSEN.format(1, "'a'") + "return type(k)",
        "if x.sum() > 0:\n    k = 1\nreturn type(k), isinstance(k, int), hasattr(k, 'shape')",
        CHOSEN.format("'shape'", "'nope'") + "return hasattr(x, k), getattr(x, k, 5) is None",
        CHOSEN.format("'ndim'", "'nope'") + "return getattr(x, k)",
        CHOSEN.format("x", 3) + "return getattr(k, 'ndim', 7), hasattr(k, 'ndim')",
        "k = x.sum()\nif k > 0:\n    k = 3\nreturn getattr(k, 'ndim', 7), type(k), hasattr(k, 'T')",
        CHOSEN.format(1, 0) + "y = paddle.stack([x, x])\ny[k] = x * 2\nreturn y",
        CHOSEN.format(1, None) + "y = paddle.stack([x, x])\ny[k:] = x * 2\nreturn y",
        "return getattr(x, 'a', 1, 2)",
        "return getattr(x, 'nope')",
        "return isinstance(x, 3)",
        "return {0: x, 1: x * 2, 'a': 3}[int(x.max() + 5)]",
        "return {}[int(x.max())], [][int(x.max())]",
        "return [][int(x.max())]",
        "return ['a', 'a', x][int(x.max() * 0)]",
        "y = x * 1\ny[0] = x[1].astype('float64') * 2.7\nreturn y",
        CHOSEN.format("'a'", "'b'") + "d = {'a': x}\nd[k] = x\nreturn d",
        CHOSEN.format(1, 0) + "d = [x, x * 2]\ne = d\nd[k:] = [x]\nreturn d, len(e), e is d",
        "y = x * 1\nt = (y, 3)\ny.add_(x)\nreturn t",
    ],
)
def test_items_and_attributes_of_what_a_branch_has_chosen(text: str) -> None:
    """B4, E1: what dygraph has there, or raises."""
    assert_same(body(text), POSITIVE, NEGATIVE)


@pytest.mark.parametrize(
    ("text", "kind", "words", "line"),
    [
        ("y = x.sum()\ny.add_(x)\nreturn y", InplaceError, "another dtype or rank", 2),
    ],
)
def test_changes_that_no_program_can_make(
    text: str, kind: type[D2SError], words: str, line: int
) -> None:
    """B4, F3: refused at their line."""
    refused(text, kind, words, line)


@pytest.mark.parametrize(
    ("begin", "change"),
    [
        ("y = x * 1\nt = (y, 3)", "y.add_(x)"),
        ("y = x * 1\nt = [y, 3]", "y.add_(x)"),
        ("t = [x * 1, 3]\ny = t[0]", "t[0].add_(x)"),
        ("t = (x * 1, 3)\ny = t[0]", "t[0].add_(x)\n    t = (t[0], 4)"),
        ("t = {'a': x * 1}\ny = t['a']", "t['a'].add_(x)\n    t['b'] = 3"),
    ],
)
def test_a_change_in_place_in_a_loop_with_another_name(begin: str, change: str) -> None:
    """F3: the other name has the new contents."""
    text = f"{begin}\nn = paddle.zeros([])\nwhile n < 3:\n    {change}\n    n = n + 1\nreturn t, y"
    lines = "\n".join(f"    {line}" for line in text.splitlines())
    assert_same(function_of(f"def f(x):\n{lines}"), tensor(1.0, 2.0), grad=False)


SLOTS = """
class Point:
    __slots__ = ("a", "b")

class Total:
    t = 1

def f(x):
    p = Point()
    p.a = p.b = x
    {text}
"""


@pytest.mark.parametrize(
    "text",
    [
        "if x.sum() > 0:\n        del p.b\n    return p.a, getattr(p, 'b', None), hasattr(p, 'b')",
        "if x.sum() > 0:\n        p.b = x * 2\n    else:\n        del p.a\n"
        "    return hasattr(p, 'a'), hasattr(p, 'b')",
        "if x.sum() > 0:\n        del p.b\n    return p.b * 1",
        "n = paddle.zeros([])\n    while n < 3:\n        p.a = p.a + 1\n        p.b = x * n\n"
        "        n = n + 1\n    return p.a, p.b",
        "Total.u = x\n    if x.sum() > 0:\n        del Total.u\n    r = getattr(Total, 'u', 7)\n"
        "    if hasattr(Total, 'u'):\n        del Total.u\n    return r",
        "if x.sum() > 0:\n        Total.t = Total.t + x\n    else:\n        Total.u = 3\n"
        "    r = Total.t, hasattr(Total, 'u')\n    Total.t = 1\n    return r",
    ],
)
def test_slots_and_class_attributes(text: str) -> None:
    """F3: bound and unbound in a branch, changed in a loop."""
    assert_same(function_of(SLOTS.format(text=text), "f"), POSITIVE, NEGATIVE)
