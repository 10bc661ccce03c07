"""Lists, dicts and sets that branches change: every name, any number of branches (D1, B2, F3)."""

from __future__ import annotations

import pytest

import d2s
from d2s.errors import ContainerInGraphError
from tests.helpers import assert_same, function_of, tensor

X = [(tensor(value, 0.25),) for value in (-1.0, 0.75, 1.75, 2.75, 9.0)]
"""The sum is below, between and above the bounds that the programs compare it with."""

HELPERS = """
def append(things, x, bound):
    if x.sum() > bound:
        things.append(x * bound)


def store(table, x, bound):
    if x.sum() > bound:
        table[bound] = x


def walk(out, x, depth):
    if depth:
        append(out, x, depth)
        walk(out, x, depth - 1)


class Box:
    def __init__(self):
        self.items = []

    def put(self, value):
        self.items.append(value)

"""

NAMES = {
    "one name": """
def f(x):
    kept = []
    if x.sum() > 1:
        kept.append(x)
    return kept, len(kept)
""",
    "a name before": """
def f(x):
    kept = []
    other = kept
    if x.sum() > 1:
        kept.append(x)
    if x.sum() > 2:
        other.append(x * 2)
    return kept, other, len(other)
""",
    "a name in between": """
def f(x):
    kept = []
    if x.sum() > 1:
        kept.append(x)
    other = kept
    if x.sum() > 2:
        kept.append(x * 2)
    return other, kept
""",
    "an item of a list": """
def f(x):
    kept = []
    both = [kept, x]
    if x.sum() > 1:
        kept.append(x)
    return both
""",
    "a value of a dict": """
def f(x):
    table = {}
    outer = {"table": table}
    if x.sum() > 1:
        table[1] = x
    if x.sum() > 2:
        outer["table"][2] = x
    return table, outer
""",
    "an attribute": """
def f(x):
    box = Box()
    items = box.items
    for bound in range(3):
        if x.sum() > bound:
            box.put(x * bound)
    return items, box.items
""",
    "a parameter of the same name": """
def add(kept, x):
    if x.sum() > 1:
        kept.append(x)


def f(x):
    kept = []
    add(kept, x)
    return kept
""",
    "a parameter": """
def f(x):
    kept = []
    for bound in range(4):
        append(kept, x, bound)
    return kept, len(kept)
""",
    "a parameter for a dict": """
def f(x):
    kept = {}
    store(kept, x, 1)
    store(kept, x, 2)
    return kept
""",
    "a parameter for a set": """
def add(seen, x):
    if x.sum() > 1:
        seen.add(3)


def f(x):
    seen = {1}
    add(seen, x)
    return sorted(seen)
""",
    "recursion": """
def f(x):
    out = []
    walk(out, x, 4)
    return out
""",
    "a closure": """
def f(x):
    kept = []

    def put(value):
        kept.append(value)

    if x.sum() > 1:
        put(x)
    if x.sum() > 2:
        put(x * 2)
    if x.sum() > 3:
        put(x * 3)
    return kept
""",
    "inside of a branch": """
def f(x):
    kept = []
    other = kept
    if x.sum() > 0:
        append(kept, x, 1)
        if x.sum() > 2:
            other.append(x)
    return kept, other
""",
    "a name that reads": """
def f(x):
    kept = [x]
    other = kept
    if x.sum() > 1:
        kept.pop()
    if len(other) == 0:
        return x * 5
    return x + other[0]
""",
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", NAMES)
def test_every_name_shows_what_a_branch_has_made_of_a_container(name: str) -> None:
    """F3: an alias, a parameter and a closure see the change on the runs that make it."""
    assert_same(function_of(HELPERS + NAMES[name]), *X)


NOT_BOUND = {
    "a tuple": """
def f(x):
    kept = []
    both = (kept, x)
    if x.sum() > 1:
        kept.append(x)
    return both
""",
    "changed here, replaced there": """
def f(x):
    kept = []
    other = kept
    if x.sum() > 1:
        kept.append(x)
    else:
        kept = [x, x]
    return kept, other
""",
}


@pytest.mark.parametrize("name", NOT_BOUND)
def test_a_name_that_cannot_be_bound_is_refused(name: str) -> None:
    """F3: a coded error, on the line of the branch, in the place of a list that stays as it was."""
    function = function_of(NOT_BOUND[name])
    with pytest.raises(ContainerInGraphError) as caught:
        d2s.to_static(function)(*X[0])
    assert caught.value.line == 4
    assert "another" in caught.value.cause


MANY = {
    "append": ("kept = []", "kept.append(x * i)", ""),
    "append or two": ("kept = []", "kept.append(x * i)", "else:\n            kept += [x, x - i]"),
    "insert": ("kept = [x]", "kept.insert(0, x * i)", ""),
    "pop": ("kept = [x, x + 1, x + 2, x + 3, x + 4, x + 5, x + 6, x + 7]", "kept.pop()", ""),
    "numbers": ("kept = []", "kept.append(i)", "else:\n            kept.append(-i)"),
    "tuples": ("kept = []", "kept.append((x, i))", ""),
    "texts": ('kept = ""', 'kept += "x"', ""),
}
"""The start, what a branch does with it, and the other side."""

UNROLLED = """
def f(x):
    {start}
    for i in range({count}):
        if x.sum() > i:
            {change}
        {otherwise}
    return kept, len(kept)
"""


def unrolled(name: str, count: int) -> object:
    """A loop of Python's around a tensor branch that changes a list."""
    start, change, otherwise = MANY[name]
    return function_of(
        UNROLLED.format(start=start, change=change, otherwise=otherwise, count=count)
    )


@pytest.mark.parametrize("name", MANY)
def test_many_branches_change_one_list(name: str) -> None:
    """B2, D1: values, gradients, and the length that a reader sees."""
    assert_same(unrolled(name, 7), *X)


@pytest.mark.parametrize("name", MANY)
def test_the_program_grows_as_its_text_does(name: str) -> None:
    """A list that n branches may change is not captured once for each of 2 to the n lists.

    A text grows with the square: n of them are told apart after n branches.
    """
    sizes = []
    for count in (4, 8):
        static = d2s.to_static(unrolled(name, count))
        static(*X[0])
        sizes.append(static.programs[0].operations)
    assert sizes[1] < 5 * sizes[0], sizes


def test_items_that_are_texts() -> None:
    """D1: many such branches make one list."""
    text = UNROLLED.replace("{start}", "kept = []").replace("{otherwise}", "")
    text = text.replace("{change}", "kept.append(str(i))").replace("{count}", "9")
    assert_same(function_of(text), *X)


@pytest.mark.parametrize("change", ["kept.append(paddle.ones([i + 1]))"])
def test_items_that_make_no_one_list_stay_apart(change: str) -> None:
    """D1: some such branches give what dygraph gives, and many do."""
    text = UNROLLED.replace("{start}", "kept = []").replace("{otherwise}", "")
    few, many = (
        function_of(text.replace("{change}", change).replace("{count}", str(count)))
        for count in (3, 9)
    )
    assert_same(few, *X)
    assert_same(many, *X)


def test_breaks_of_two_unrolled_loops_and_a_list() -> None:
    """C2, D1: the program that a random search did not come to the end of."""
    function = function_of(
        """
        def f(x):
            kept = []
            for i in range(3):
                if x.sum() > 2 + i:
                    break
                for j in range(3):
                    if x.sum() > 1 + j:
                        break
                    kept.append(x * (i + j))
            y = x
            for each in kept:
                y = y + each * 0.25
            return y
        """
    )
    assert_same(function, *X)
