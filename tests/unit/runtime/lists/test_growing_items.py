"""Items that differ in gradient or size, in lists whose length the run decides (rules C7, D1)."""

from __future__ import annotations

from typing import Any

import paddle
import pytest

import d2s
from tests.helpers import assert_same, function_of, scalar, tensor

GIVEN = [(tensor(1.0, 2.0, 3.0), scalar(count)) for count in (3, 1, 2)]
SIZES = {
    "known, then open": """
        out.append(x * 2)
        out.append(x[x > 0])
    """,
    "open, then known": """
        out.append(x[x > 0] + i)
        out.append(x * 3)
    """,
    "with a gradient, then without": """
        out.append(x * 2)
        out.append(x[x > 0].detach())
    """,
    "without a gradient, then with one": """
        out.append(x.detach())
        out.append(x[x > 0] * 5)
    """,
    "with empty parts": """
        out.append((x * 2, (), {}, []))
        out.append((x[x > 0].detach(), (), {}, []))
    """,
    "set": """
        out.append(x * 2)
        out[0] = x[x > 0] * 5
    """,
    "inserted": """
        out.append(x * 2)
        out.insert(0, x[x > 0] * 5)
    """,
    "in tuples": """
        out.append((x * 2, x + 1))
        out.append((x[x > 0], x[x > 0] + 2))
    """,
    "in dicts": """
        out.append({"a": x * 2, "b": i})
        out.append({"a": x[x > 0], "b": i + 1})
    """,
    "in lists": """
        out.append([x * 2, i])
        out.append([x[x > 0], i])
    """,
}


@pytest.mark.parametrize("name", SIZES)
def test_items_whose_size_is_known_on_some_lines_only(name: str) -> None:
    """D1: the dimension is open then."""
    function = function_of(f"""
    def f(x, n):
        out = []
        for i in range(n):{SIZES[name].replace(chr(10), chr(10) + "    ")}
        return out
    """)
    assert_same(function, *GIVEN, grad=False)


GRADIENTS = {
    "appended behind": "out.append(x * 2)",
    "set behind": "out[0] = x * 2",
    "set last": "out[-1] = x * x",
    "inserted behind": "out.insert(1, x * 2)",
    "extended behind": "out.extend([x * 2, x * 5])",
    "spliced": "out[0:1] = [x * 2]",
    "set, then grown": """
        out[0] = x * 2
        for j in range(n):
            out.append(x.detach() * j)
    """,
    "inserted, then grown": """
        out.insert(1, x * 2)
        for j in range(n):
            out.append(x.detach() * j)
    """,
    "set in a loop": """
        for j in range(n):
            out[j] = x * j
    """,
    "inserted in a loop": """
        for j in range(n):
            out.insert(0, x * j)
    """,
    "set in a branch": """
        if x.sum() > 2:
            out[0] = x * 7
    """,
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_items_with_gradients_among_others(name: str) -> None:
    """C7, D1: the gradient goes to where the item came from."""
    change = GRADIENTS[name]
    function = function_of(
        f"""
    def f(x, n):
        out = []
        for i in range(n):
            out.append(x.detach() + i)
        {change}
        return out
    """.replace("\n        \n", "\n")
    )
    assert_same(function, *GIVEN)


EMPTY = {
    "stacked rows": """
            out.insert(0, x * i)
    """,
    "popped": """
            out.append(x * i)
            if i > 1:
                out.pop(0)
    """,
}


@pytest.mark.parametrize("name", EMPTY)
def test_gradients_through_a_list_that_begins_empty(name: str) -> None:
    """C7, D1: the row that stands for no item lets gradients through."""
    function = function_of(f"""
    def f(x, n):
        out = []
        for i in range(n):{EMPTY[name]}
        return out
    """)
    assert_same(function, *GIVEN)


def test_the_size_of_items_of_two_lines() -> None:
    """D1, E4: that of the items which are there, not that of the first line."""

    def f(x, n):
        out = []
        for i in range(n + 1):
            if i > 5:
                out.append(x * i)
            if i <= 5:
                out.append(x[x > 1] * i)
        return out[0].shape[0], out[-1] + out[0]

    assert_same(f, (tensor(1.0, 2.0, 3.0), scalar(0)), (tensor(2.0, 3.0, 4.0), scalar(4)))


CHOSEN = {
    "here": """
        if x.sum() > 3:
            out = [v * 2 for v in x[x > 1]]
        else:
            out = []
    """,
    "there": """
        out = []
        if x.sum() > 3:
            out = [v * 2 for v in x[x > 1]]
    """,
    "cleared": """
        out = [v * 2 for v in x[x > 1]]
        if x.sum() < 3:
            out.clear()
    """,
    "grown from none": """
        out = []
        if x.sum() > 3:
            for v in x[x > 1]:
                out.append(v * 3)
    """,
}


@pytest.mark.parametrize("name", CHOSEN)
@pytest.mark.parametrize("after", ["", "for i in range(n):\n            out.append(x[0] * i)"])
def test_gradients_of_a_list_or_none(name: str, after: str) -> None:
    """B4, C7: one side has no items."""
    function = function_of(f"""
    def f(x, n):{CHOSEN[name]}
        {after}
        return out
    """)
    assert_same(function, *GIVEN, (tensor(1.0, 0.5), scalar(2)))


BRANCHES = {
    "numbers": ("out.append(1)", "out.append(2)"),
    "a number and a tensor's": ("out.append(i)", "out.append(2)"),
    "floats": ("out.append(0.5)", "out.append(1.5)"),
    "tuples": ("out.append((x * i, 1))", "out.append((x, i))"),
    "a list made there": ("rows = [v for v in x if v > i]", "rows = [v * 2 for v in x if v > i]"),
}


@pytest.mark.parametrize("name", BRANCHES)
def test_the_two_sides_of_a_branch_leave_items(name: str) -> None:
    """B4, D1: each leaves its own."""
    true, false = BRANCHES[name]
    function = function_of(f"""
    def f(x, n):
        out, rows = [], []
        for i in range(n):
            if i > 0:
                {true}
            else:
                {false}
        return out, rows
    """)
    assert_same(function, *GIVEN)


MADE = {
    "read": "out = made[0] * 2 + len(made)",
    "appended": "made.append(x[0])\n            out = sum(made)",
    "appended in a loop": """
            for j in range(n):
                made.append(x[1] * j)
            out = sum(made) + len(made)""",
    "appended in a branch": """
            if n > 1:
                made.append(x[1])
            out = sum(made) + len(made)""",
}


@pytest.mark.parametrize(("name", "loop"), [*((name, False) for name in MADE), ("read", True)])
def test_a_list_that_one_side_of_a_branch_makes(name: str, loop: bool) -> None:
    """B2, D1: it is used where the same condition holds."""
    text = f"""
        if x.sum() > 3:
            made = [v * 3 for v in x[x > 1]]
        if x.sum() > 3:
            {MADE[name]}
    """
    if loop:
        text = "\n        for _ in range(n):" + text.replace("\n", "\n    ")
    function = function_of(f"""
    def f(x, n):
        out = x.sum() * 0{text}
        return out
    """)
    assert_same(function, *GIVEN, (tensor(1.0, 0.5), scalar(2)))


def test_a_tensor_of_several_elements_in_a_list_of_small_ones() -> None:
    """D1: dygraph cannot say whether it is in the list, nor does the program."""

    def f(x, n):
        out = []
        for i in range(n):
            out.append(x[0] * i)
        return x in out

    static: Any = d2s.to_static(f)
    with pytest.raises(d2s.D2SError, match="needs one element"):
        static(*GIVEN[0])


LISTS = {
    "or nothing": "best = None\n            if i > 0:\n                best = rows",
    "or a number": "best = 1\n            if i > 0:\n                best = rows",
}


@pytest.mark.parametrize("name", LISTS)
def test_a_growing_list_or_something_else(name: str) -> None:
    """C2, D1: a variable of a loop is a list in some trips only."""
    first, change = LISTS[name].split("\n", 1)
    function = function_of(f"""
    def f(x, n):
        rows = [v for v in x if v > 1]
        {first}
        for i in range(n):
{change}
        return best
    """)
    assert_same(function, *GIVEN)


GROWN_AGAIN = """
def f(x, n):
    xs = []
    for k in range(n):
        xs.append(x.sum() + k)
    if x.sum() > 0:
        for k in range(n):
            xs.append(x.sum() + 10 + k)
    return xs
"""


def test_a_list_that_a_loop_in_a_branch_grows_again() -> None:
    """D2: what a loop before the branch has made grows in the branch, and is seen behind it."""
    function = function_of(GROWN_AGAIN, "f")
    static = d2s.to_static(function, full_graph=True)
    for numbers, count in ([1.0, 2.0], 2), ([-1.0, -2.0], 3), ([1.0, 0.5], 0):
        given = paddle.to_tensor(numbers), paddle.to_tensor(count)
        assert [float(each) for each in static(*given)] == [float(y) for y in function(*given)]
