"""Loops that change tensors in place and hand them from one variable to another."""

from __future__ import annotations

from typing import Any

import numpy as np
import paddle
import pytest

import d2s
from tests.helpers import assert_same, function_of

LOOP = """
class Box:
    pass

def f(x, y, n):
    {begin}
    i = paddle.zeros([], "int64")
    while i < n:
        {body}
        i = i + 1
    return {result}
"""
TWO = "a = y * 1\nb = y * 2"
SWAPPED = "b[i] = a[i - 1] + x\na, b = b, a"

KNOWN = {
    "a name": (f"{TWO}\nkeep = a", SWAPPED, "b, keep"),
    "an item": (f"{TWO}\nkeep = [a]", SWAPPED, "b, keep[0]"),
    "a view": (f"{TWO}\nkeep = a[1:]", SWAPPED, "b, keep"),
    "an argument": ("a = y\nb = y * 2", SWAPPED, "b"),
    "three in turn": (
        f"{TWO}\nc = y * 3\nkeep = b",
        "c[i] = a[i - 1] + x\na, b, c = b, c, a",
        "a, b, c, keep",
    ),
    "one for both": (f"{TWO}\nkeep = a", "b[i] = a[i - 1] + x\nb = a", "b, keep"),
    "a method": (f"{TWO}\nkeep = a", "b.add_(x)\na, b = b, a", "b, keep"),
    "by a third name": (f"{TWO}\nkeep = a", "t = a\nb[i] = x\na = b\nb = t", "b, keep"),
    "on one side": (f"{TWO}\nkeep = a", "b[i] = x\nif i > 0:\n    a, b = b, a", "b, keep"),
    "attributes": (
        "o = Box()\no.a = y * 1\no.b = y * 2\nkeep = o.a",
        "o.b[i] = o.a[i - 1] + x\no.a, o.b = o.b, o.a",
        "o.b, keep",
    ),
    "items": (
        "l = [y * 1, y * 2]\nkeep = l[0]",
        "l[1][i] = l[0][i - 1] + x\nl[0], l[1] = l[1], l[0]",
        "l, keep",
    ),
    "an inner loop": (
        f"{TWO}\nkeep = a",
        "j = paddle.zeros([], 'int64')\nwhile j < 3:\n    b[i, j] = a[j, 0] + 1\n    j = j + 1\n"
        "a, b = b, a",
        "b, keep",
    ),
    "the best so far": (
        "a = y * 1\nbest = y * 2",
        "a.add_(x)\nif i == 1:\n    best = a",
        "a, best",
    ),
    "brought back by an inner loop": (
        "a = y * 1\nkeep = a",
        "z = a\na = y.clone()\nj = paddle.zeros([], 'int64')\nwhile j < 3:\n    a[i] = x + j\n"
        "    a, z = z, a\n    j = j + 1",
        "a, keep",
    ),
    "from outside": ("a = x * 1\nz = y[0] * 1", "a.add_(x)\na = z", "a, z"),
}
APART = {
    "nobody": (TWO, SWAPPED, "a, b"),
    "constants": ("a = paddle.zeros([5, 3])\nb = paddle.ones([5, 3])", SWAPPED, "a + b"),
    "a copy": (f"{TWO}\nkeep = a.clone()", SWAPPED, "b, keep"),
    "a copy in each trip": (
        "a = y * 1\ns = x.sum()",
        "last = a.clone()\na[i] = x + last[i - 1]\ns = s + (a - last).sum()",
        "a, s",
    ),
    "one name for a trip": (
        "a = y * 1\ns = x.sum()",
        "last = a\na[i] = x + last[i - 1]\ns = s + last.sum()",
        "a, s",
    ),
    "a copy of the best": (
        "a = y * 1\nbest = y * 2",
        "a.add_(x)\nif i == 1:\n    best = a.clone()",
        "a, best",
    ),
    "a copy in the place of an argument": ("a = y", "a = y.clone()\na[i] = x", "a, y"),
    "a new one, in an inner loop": (
        "a = y * 1\nkeep = a",
        "a = a * 2\nj = paddle.zeros([], 'int64')\nwhile j < 3:\n    a[i, j] = a[i, j] + 1\n"
        "    j = j + 1",
        "a, keep",
    ),
    "a new one under a condition": (
        "a = y\nkeep = a",
        "a = y.clone() if i > 0 else y * 2\n"
        "for j in range(2):\n    if a[j, 0] > 0:\n        a[j, 0] = 9.0",
        "a, keep",
    ),
    "a view in its place": ("a = y * 1\nkeep = a", "a = a[0:5]\na[i] = x", "a, keep"),
    "new tensors": ("a = y * 1\nlast = y * 2", "last = a\na = a + x", "a, last"),
}


def _function(begin: str, body: str, result: str) -> Any:
    texts = {"begin": begin.replace("\n", "\n    "), "body": body.replace("\n", "\n        ")}
    return function_of(LOOP.format(**texts, result=result), "f")


def _inputs(n: int) -> tuple[paddle.Tensor, ...]:
    return paddle.ones([3]), paddle.arange(15.0).reshape([5, 3]) * 0.1, paddle.to_tensor(n)


@pytest.mark.sampled(3, also=["items", "brought back by an inner loop", "an inner loop"])
@pytest.mark.parametrize("name", KNOWN)
def test_what_others_know_is_not_changed_under_another_name(name: str) -> None:
    """A1, F3: refused as one program, where the other name would go on with the old contents."""
    with pytest.raises(d2s.errors.InplaceError, match=r"D2S304"):
        d2s.to_static(_function(*KNOWN[name]), full_graph=True)(*_inputs(4))


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", KNOWN)
@pytest.mark.filterwarnings("ignore::d2s.errors.BreakWarning")
def test_the_default_gives_what_dygraph_gives(name: str) -> None:
    """A1: with any number of trips."""
    function = _function(*KNOWN[name])
    converted = d2s.to_static(function, full_graph=False)
    for trips in (0, 1, 2, 4):
        right, mine = function(*_inputs(trips)), converted(*_inputs(trips))
        flat = paddle.utils.flatten
        for one, other in zip(flat(right), flat(mine), strict=True):
            assert one.tolist() == other.tolist()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", APART)
def test_what_nobody_else_knows_goes_from_name_to_name(name: str) -> None:
    """A1, F3: double buffers, and copies."""
    assert_same(_function(*APART[name]), *map(_inputs, (0, 1, 2, 4)), grad=False)


ONE_OF_SEVERAL = """
def f(x):
    if x.sum() > 5:
        r = {first}
    elif x.sum() > 0:
        r = {second}
    else:
        r = {third}
    {change}
    return {result}
"""
TUPLES = {"first": "(x * 1,)", "second": "(x * 3, 1)", "third": "(x * 2, 1, 2)"}
DICTS = {"first": "{'a': x * 1}", "second": "{'a': x * 3, 'b': 1}", "third": "{'a': x * 2}"}


@pytest.mark.parametrize(
    ("kinds", "change"),
    [
        (TUPLES, "r[0].add_(x)"),
        (TUPLES, "r[0][0] = 7.0"),
        (DICTS, "r['a'][0] = 7.0"),
    ],
)
@pytest.mark.filterwarnings("ignore::d2s.errors.BreakWarning")
def test_a_part_of_one_of_several_of_other_forms(kinds: dict[str, str], change: str) -> None:
    """A1, F3: it is not bound anew in them; refused, and right by default."""
    function = function_of(ONE_OF_SEVERAL.format(**kinds, change=change, result="r"), "f")
    inputs = [paddle.to_tensor(each) for each in ([1.0, 2.0], [-1.0, -2.0], [10.0, 2.0])]
    with pytest.raises(d2s.errors.InplaceError, match="one of several"):
        d2s.to_static(function, full_graph=True)(inputs[0])
    flat, converted = paddle.utils.flatten, d2s.to_static(function, full_graph=False)
    for x in inputs:
        right, mine = flat(function(x)), flat(converted(x))
        assert [np.asarray(a).tolist() for a in right] == [np.asarray(a).tolist() for a in mine]


@pytest.mark.parametrize("change", ["v = r[0].clone()\n    v.add_(x)", "v = r[0]\n    v.add_(x)"])
def test_a_part_that_nobody_reads_again(change: str) -> None:
    """F3: a copy of it, or the part itself where the tuple is not read later."""
    result = "v, r" if "clone" in change else "v"
    text = ONE_OF_SEVERAL.format(**TUPLES, change=change, result=result)
    inputs = [paddle.to_tensor(each) for each in ([1.0, 2.0], [-1.0, -2.0], [10.0, 2.0])]
    assert_same(function_of(text, "f"), *inputs, grad=False)
