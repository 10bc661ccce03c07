"""A list of unknown length under several names, in branches and nested loops (A1, B4, D1)."""

from __future__ import annotations

import textwrap
from typing import Any

import pytest

import d2s
from d2s.errors import ContainerInGraphError
from tests.helpers import assert_same, function_of, tensor

POSITIVE, NEGATIVE, SMALL = tensor(1.0, 2.0), tensor(-1.0, 0.0), tensor(0.5, 0.25)


GROWN = """
import collections

Pair = collections.namedtuple("Pair", "a b")

class Holder:
    pass

def f(x):
    out = [{item}]
    n = paddle.zeros([])
    while n < 3:
        out.append({item} * n)
        n = n + 1
{after}
"""


def grown(after: str, item: str = "x") -> Any:
    """A function that grows ``out`` in a static loop, and then does ``after``."""
    return function_of(GROWN.format(item=item, after=textwrap.indent(after, "    ")), "f")


def refused(function: Any, kind: Any, words: str, line: int, *arguments: Any) -> None:
    """A direct call is refused with these words, at this line of the function's file."""
    with pytest.raises(kind, match=words) as caught:
        d2s.to_static(function)(*(arguments or (POSITIVE,)))
    assert f":{line}: " in str(caught.value)


def test_a_list_is_grown_as_another_name_says() -> None:
    """D1: two names of one list, in one loop and the next."""
    assert_same(
        function_of("""
        def f(x):
            a = [x]
            b = a
            n = paddle.zeros([])
            while n < x.sum():
                a.append(x * n)
                b.append(x)
                n = n + 1
            c = a
            while n < x.sum() + 2:
                c.append(x * n)
                y = b[-1] * 2
                n = n + 1
            return a, b, c, a is b, b is c, y
        """),
        POSITIVE,
        SMALL,
    )


@pytest.mark.parametrize("before", ["", "while n < 2:\n    a.append(x)\n    n = n + 1\n"])
@pytest.mark.parametrize("change", ["a.append(x)\n    b = b + [x]", "a = a + [x]\n    b = b + [x]"])
def test_one_of_two_names_of_a_list_is_bound_to_another(before: str, change: str) -> None:
    """D1: whether both go on to be one list differs from trip to trip."""
    text = (
        "def f(x):\n    a = [x]\n    n = paddle.zeros([])\n"
        + textwrap.indent(before, "    ")
        + textwrap.indent(f"b = a\nwhile n < 5:\n    {change}\n    n = n + 1\nreturn a, b", "    ")
    )
    with pytest.raises(ContainerInGraphError, match="are one list before a static loop"):
        d2s.to_static(function_of(text))(POSITIVE)


HELD = """
class Holder:
    pass

def f(x):
    out = [x]
    {held}
    n = paddle.zeros([])
    while n < 3:
        out.append(x * n)
        n = n + 1
    return out, {seen}
"""


@pytest.mark.parametrize(
    ("held", "seen"),
    [
        ("held = Holder(); held.v = out", "held.v"),
        ("held = {'a': [out]}", "held"),
        ("held = lambda: out", "held()"),
    ],
)
def test_who_else_holds_a_list_that_grows(held: str, seen: str) -> None:
    """D1: everybody sees the list that the loop has made."""
    assert_same(function_of(HELD.format(held=held, seen=seen), "f"), POSITIVE, NEGATIVE)


def test_a_tuple_holds_a_list_that_grows() -> None:
    """D1: the tuple holds what the list becomes."""
    function = function_of(HELD.format(held="held = (out, 1)", seen="held"), "f")
    assert_same(function, (tensor(1.0, 2.0),), (tensor(-1.0, 0.5),))
    out, held = d2s.to_static(function, full_graph=True)(tensor(1.0, 2.0))
    assert held[0] is out


def test_a_list_with_two_names_grows_in_a_branch() -> None:
    """D1: the other name is outside of the branch."""
    function = function_of("""
    def f(x):
        out = [x]
        other = out
        if x.sum() > 0:
            n = paddle.zeros([])
            while n < 3:
                out.append(x * n)
                n = n + 1
        return out, other, other is out
    """)
    assert_same(function, POSITIVE, NEGATIVE)


@pytest.mark.parametrize("item", ["[(x, x)]", "paddle.stack(a)"])
def test_a_loop_binds_a_grown_list_to_something_else(item: str) -> None:
    """D1: it has to stay a list."""
    function = function_of(f"""
    def f(x):
        a = [x]
        n = paddle.zeros([])
        while n < 3:
            a.append(x * n)
            n = n + 1
        while n < 5:
            a = {item}
            n = n + 1
        return a
    """)
    if item[0] == "[":
        assert_same(function, POSITIVE, NEGATIVE)
    else:
        words = r"from a list to a float32 tensor of shape \[-1, 2\]"
        refused(function, ContainerInGraphError, words, 7)


@pytest.mark.parametrize("sides", ["[x, 'text']", "[x, (x, 1)]", "[x, x, x]"])
def test_a_list_of_one_of_two_lengths_grows(sides: str) -> None:
    """B4, D1: one list, whatever its items are."""
    function = function_of(f"""
    def f(x):
        a = [x]
        if x.sum() > 0:
            a = {sides}
        n = paddle.zeros([])
        while n < 3:
            a.append(x)
            n = n + 1
        return a
    """)
    assert_same(function, POSITIVE, NEGATIVE)


@pytest.mark.parametrize(
    "false",
    ["[x.sum()]", "[]", "['text']", "[(x.sum(), 1)]", "(x.sum(),)", "[x.sum().astype('int64')]"],
)
def test_a_branch_chooses_between_a_grown_list_and_another(false: str) -> None:
    """B4: the host gives back the one that is meant, whatever its items are."""
    function = function_of(f"""
    def f(x):
        a = [x.sum()]
        n = paddle.zeros([])
        while n < 3:
            a.append(x.sum() * n)
            n = n + 1
        if x.sum() > 0:
            a = a + [x.sum()]
        else:
            a = {false}
        return a, len(a)
    """)
    assert_same(function, POSITIVE, NEGATIVE)


def test_a_list_is_read_in_a_branch_only() -> None:
    """D1: the arrays of the loop are rows in the branch, and the list stays as it is."""
    after = "y = x\nif x.sum() > 0:\n    y = x + out[1] + len(out)\nreturn y, out"
    assert_same(grown(after), POSITIVE, NEGATIVE)


@pytest.mark.parametrize("false", ["{'k': x}", "b + b", "a[1:]"])
@pytest.mark.parametrize("item", ["(n, n)", "n.astype('int64')", "n"])
def test_one_of_two_grown_lists(false: str, item: str) -> None:
    """B4: one list where their items are alike, else the one that the run has taken."""
    function = function_of(f"""
    def f(x):
        a, b = [], []
        n = paddle.zeros([])
        while n < 3:
            a.append(n)
            b.append({item})
            n = n + 1
        if x.sum() > 0:
            c = a + a
        else:
            c = {false}
        return c, len(c)
    """)
    assert_same(function, POSITIVE, NEGATIVE)


@pytest.mark.parametrize("other", ["out + (x,)", "(x,) + out"])
def test_a_list_and_a_tuple_are_no_list(other: str) -> None:
    """A1: Python's TypeError."""
    function = grown(f"return {other}")
    for which in (function, d2s.to_static(function)):
        with pytest.raises(TypeError, match="tuple"):
            which(POSITIVE)


@pytest.mark.parametrize(
    "inner",
    [
        "while m < 2:\n    out.append(m * x)\n    m = m + 1\n",
        "while m < 2:\n    if m > 0:\n        out.append(m * x)\n    m = m + 1\n",
        "out.append(x * n)\nwhile m < 2:\n    if m > 5:\n        out.append(x)\n    m = m + 1\n",
        "out.append(x * n)\nwhile m < 2:\n    out = out\n    y = y + len(out)\n    m = m + 1\n",
    ],
)
def test_a_list_in_a_loop_in_a_loop(inner: str) -> None:
    """D1: the inner loop appends, may append, or only looks."""
    text = (
        "def f(x):\n    out, y = [x], x\n    n = paddle.zeros([])\n    while n < 3:\n"
        + textwrap.indent("m = n * 0\n" + inner + "n = n + 1\n", " " * 8)
        + "    return out, y\n"
    )
    assert_same(function_of(text), POSITIVE, NEGATIVE)


@pytest.mark.parametrize("begin", ["x", "x.sum()"])
def test_the_last_item_without_gradients(begin: str) -> None:
    """D1: it is read from the array; the list is not copied for it."""
    function = function_of(f"""
    def f(x):
        out = [{begin}]
        n = paddle.zeros([])
        with paddle.no_grad():
            while n < 3:
                out.append(out[-1] + n)
                n = n + 1
        return out
    """)
    assert_same(function, POSITIVE, NEGATIVE, grad=False)


def test_a_list_is_changed_through_a_name_that_the_loop_does_not_know() -> None:
    """D1: the default of a function holds it too."""
    function = function_of("""
    def f(x):
        out = [x]

        def more(o=out):
            o.append(x * 5)

        n = paddle.zeros([])
        while n < 3:
            out.append(x * n)
            more()
            n = n + 1
        return out
    """)
    refused(function, ContainerInGraphError, "'more' is held, which would go on with", 8)


@pytest.mark.parametrize(
    ("begin", "change"),
    [
        ("out = [x]\nq = collections.deque([out])", "q[0].append(n * x)"),
        ("q = Holder()\nout = q.v = [x]", "q.v.append(n * x)"),
        ("out = [x]\nq = {'a': out}", "out.append(x * n)\n        q['a'].append(x)"),
        ("out = [x]\nq = lambda: out", "q().append(n * x)"),
        ("out = G\nG.clear()", "G.append(n * x)"),
        ("out = []\nq = next(o for o in [out])", "q.append(n * x)"),
    ],
)
def test_a_list_grows_that_is_reached_in_another_way(begin: str, change: str) -> None:
    """D1: through a container, an object, a function, a global name."""
    text = (
        "import collections\n\nclass Holder:\n    pass\n\nG = []\n\ndef f(x):\n"
        + textwrap.indent(begin, "    ")
        + f"\n    n = paddle.zeros([])\n    while n < 3:\n        {change}\n        n = n + 1\n"
        + "    return list(out)\n"
    )
    assert_same(function_of(text, "f"), POSITIVE, NEGATIVE)
