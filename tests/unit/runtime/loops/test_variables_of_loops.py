"""Variables that a trip or one side of a branch binds, in loops (rules B2, C3, C6)."""

from __future__ import annotations

import paddle
import pytest

import d2s
from d2s.runtime.aliasing.holders import holders_where
from tests.helpers import assert_same, function_of, scalar, tensor

GIVEN = [(tensor(1.0, 2.0), scalar(count)) for count in (1, 2, 5)]
SOMETIMES = {
    "on one side": """
        if i > 0:
            pass
        else:
            y = x * 2
        if i > 1:
            y = x * 3
    """,
    "on the first side": """
        if i < 1:
            y = x * 2
        if i > 1:
            y = x * 3
    """,
    "inside of a side": """
        if i > 0:
            if i > 2:
                y = x
        else:
            y = x * 2
    """,
    "inside of both": """
        if i < 1:
            y = x
            if i > 2:
                y = x * 4
        else:
            if i > 2:
                pass
            else:
                y = x * 2
    """,
    "inside of the other side": """
        if i > 3:
            pass
        else:
            if i > 2:
                pass
            else:
                y = x * 2
    """,
    "inside of one side only": """
        if i > 3:
            pass
        else:
            if i > 0:
                y = x * i
    """,
    "from another variable": """
        if i > 3:
            z = None
        else:
            if i > 2:
                z = None
            else:
                z = x * i
        if z is not None:
            y = z
    """,
}
AROUND = {
    "loop": "for i in range(n):",
    "loop with none": "y = None\n    for i in range(n):",
    "bound in the trip": "for i in range(n):\n        y = None",
    "branch": "i = n\n    if i > -1:",
}


@pytest.mark.parametrize("name", SOMETIMES)
@pytest.mark.parametrize("around", AROUND)
def test_a_variable_that_some_paths_bind(name: str, around: str) -> None:
    """B2, C3: unbound, ``None`` or a tensor, whichever dygraph has there."""
    function = function_of(f"""
def f(x, n):
    {AROUND[around]}{SOMETIMES[name]}
    return x, y
""")
    assert_same(function, *GIVEN, (tensor(1.0, 2.0), scalar(0)))


def test_a_walrus_that_binds_a_global() -> None:
    """C6: in each trip it goes on from what the last one has left."""
    function = function_of("""
    def f(x, n):
        global d2s_total
        d2s_total = x * 0
        sums = [d2s_total := d2s_total + x * i for i in range(n) if i != 1]
        return sums, d2s_total
    """)
    assert_same(function, *GIVEN)


def test_a_comprehension_that_calls_what_changes_an_object() -> None:
    """C6, F3: the object has what the trips have left."""
    function = function_of("""
    class Sum:
        def __init__(self, x):
            self.total = x
            self.parts = [x]

        def add(self, v):
            self.total = self.total + v
            self.parts[0] = self.parts[0] * 2
            return self.total

    def f(x, n):
        count = Sum(x * 0)
        taken = [count.add(x * i) for i in range(n) if count.total.sum() < 20]
        return taken, count.total, count.parts
    """)
    assert_same(function, *GIVEN)


@pytest.mark.parametrize("name", ["total", "element", "accept", "sequence", "item"])
def test_the_name_of_a_walrus(name: str) -> None:
    """A3, C6: it is no name of ours."""
    function = function_of(f"""
    def f(x, n):
        {name} = x * 0
        sums = [{name} := {name} + x * i for i in range(n) if i != 1]
        return sums, {name}
    """)
    assert_same(function, *GIVEN)


def test_a_walrus_beside_a_large_table() -> None:
    """C6: it is found, however much its neighbours hold."""

    def f(x, n):
        table = {k: [k] for k in range(3000)}
        total = x * 0
        sums = [total := total + x * i for i in range(n) if table[0][0] == 0]
        return sums, total

    assert_same(f, *GIVEN)


def test_what_looks_at_the_rows_of_a_table_is_looked_for_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """G1: all variables are gone through for a loop, not for each row that it knows."""
    walks = []

    def counted(is_it):
        walks.append(is_it)
        return holders_where(is_it)

    monkeypatch.setattr("d2s.runtime.lists.items.lookers.holders_where", counted)

    def f(x, size):
        table = [[x * k] for k in range(size)]
        i = 0
        while x.sum() > i:
            table[0][0] = table[0][0] + i
            i += 1
        return table[0][0]

    counts = []
    for size in (2, 40):
        walks.clear()
        assert d2s.to_static(f)(paddle.ones([3]), size).tolist() == [3.0] * 3
        counts.append(len(walks))
    assert counts[0] == counts[1] > 0


def test_a_name_that_one_side_uses_for_itself() -> None:
    """B1: the other side, and a side that is captured once more, begin with what was before."""

    def f(x, n):
        t = x
        kept = []
        if x.sum() > n:
            t = t + 1
            y = t * 2
        else:
            y = t * 3
        u = x
        for i in range(n):
            if x.sum() > i:
                u = u + 1
                kept.append(u * i)
            else:
                kept.append(u * x[:])
            u = x * i
        return y, kept

    assert_same(f, *GIVEN)


SCRATCH = {
    "a list": ("t = [x * i]", "t = [x + i, x]"),
    "a dict": ("t = {0: x * i}", "t = {0: x + i}"),
    "a list that grows": ("t = []\n            t.append(x * i)", "t = []\n            t.append(x)"),
    "a list and a tensor": ("t = [x * i]", "t = x + i"),
    "a list that is changed": ("t = [x * i]\n            t[0] = t[0] + 1", "t = [x]"),
}


@pytest.mark.parametrize("name", SCRATCH)
def test_a_name_that_two_loops_use_for_themselves(name: str) -> None:
    """C2: what the first has left in it is nothing to the second."""
    first, second = SCRATCH[name]
    function = function_of(f"""
    def f(x, n):
        y = x
        for i in range(n):
            {first}
            y = y + t[0]
        for i in range(n):
            {second}
            y = y * t[0]
        while y.sum() < 100:
            {second.replace("i", "1")}
            y = y * 2 + t[0] * t[0]
        return y
    """)
    assert_same(function, *GIVEN)
