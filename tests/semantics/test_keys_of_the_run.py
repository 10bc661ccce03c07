"""Dicts and sets under tuples that hold numbers which only the run knows (rules B4, D2)."""

from __future__ import annotations

import paddle
import pytest

from tests.helpers import assert_same, function_of

NUMBERS = (paddle.to_tensor(1), paddle.to_tensor(2))


@pytest.mark.parametrize(
    "expression",
    [
        "(i, 1) in {(1, 1): 2.0, (2, 3): 3.0}",
        "(i, 1) not in {(1, 1), (2, 3)}",
        "(i, 1) in frozenset([(1, 1)])",
        "(i, 1) in {(1, 1): 2.0}.keys()",
        "(i, 2) in [(1, 2), (i, 3)]",
        "((i, 2), 'a') in {((1, 2), 'a'): 0}",
        "i in {1: 2, 'a': 3}",
        "i in {'a': 3, (1, 2): 4}",
        "{(1, 1): 2.0, (2, 1): 3.0}[i, 1]",
        "{(1, 1): x, (2, 1): x + 1, 'a': x}[(i, 1)]",
        "{(1, 1): 2.0}.get((i, 1), 7.0)",
        "{('a', 1): 2.0, 1: 5.0}.get(('a', i), 7.0)",
        "{1: 2.0}.get((i, i))",
        "{('a', 1): 2.0, (2, 'a'): 5.0}.get((i, 'a'), 7.0)",
    ],
)
def test_asked_for(expression: str) -> None:
    """B4: a tuple is found by what its numbers are on the run, and not by what stands for them."""
    function = function_of(f"def f(x):\n    i = x.item()\n    return {expression}")
    assert_same(function, *NUMBERS, grad=False)


PAIRS = "{(1, 2): 10, (3, 3): 11, (3, 3, 5): 12, (): 14, 'a': 15, 1: 16}"


@pytest.mark.sampled(
    2, also=["collections.Counter({table})[pair]", "(d.setdefault(pair, 7), len(d))"]
)
@pytest.mark.parametrize(
    "expression",
    [
        "{table}[pair]",
        "{table}.get(pair)",
        "{table}.get(pair, -1)",
        "{table}[tuple(t[w:])]",
        "{table}[pair] if pair in {table} else 0",
        "collections.Counter({table})[pair]",
        "(d.pop(pair, None), len(d))",
        "(d.setdefault(pair, 7), len(d))",
    ],
)
def test_a_part_of_a_list_as_a_key(expression: str) -> None:
    """B4: a tuple whose length the run decides is found by what is in it, or is not there."""
    function = function_of(f"""
import collections


def f(ids):
    t, w = ids.tolist(), int(ids[0]) % 3
    pair, d = tuple(t[w : w + 2]), {PAIRS}
    try:
        return {expression.format(table=PAIRS)}
    except KeyError as error:
        return error.args
""")
    given = ([3, 3, 5], [1, 1, 2], [2, 7, 7], [4, 1, 2])
    assert_same(function, *(paddle.to_tensor(ids) for ids in given), grad=False)


def test_a_key_that_is_not_there() -> None:
    """B4: the run raises what dygraph raises, in its words, and a ``try`` takes it."""
    function = function_of("""
def f(x):
    i = x.item()
    try:
        return {(1, 1): 2.0}[i, 1]
    except KeyError as error:
        return str(error)
""")
    assert_same(function, *NUMBERS, grad=False)
    assert_same(function_of("def f(x):\n    return {(1, 1): 2.0}[x.item(), 1]"), *NUMBERS)


def test_assigned() -> None:
    """B4: the item under the key that is meant, the others keep theirs."""
    function = function_of("""
def f(x):
    table = {(row, column): x * row + column for row in range(3) for column in range(3)}
    i = x.item()
    table[i, 0] = table[i, 0] + table[0, i]
    table[i, i] += 1
    return table
""")
    assert_same(function, *NUMBERS, grad=False)


def test_a_way_back_through_a_table() -> None:
    """C1: the place is a tuple of numbers of the run in each trip."""
    function = function_of("""
def f(cost):
    table = {(0, 0): 0 * cost[0, 0]}
    for i in range(1, 4):
        for j in range(1, 4):
            before = [table[k] for k in ((i - 1, j - 1), (i - 1, j), (i, j - 1)) if k in table]
            if before:
                table[i, j] = cost[i - 1, j - 1] + paddle.stack(before).min()
    at = (3, 3)
    path = [at]
    while at != (1, 1):
        i, j = at
        at = min(
            ((i - 1, j - 1), (i - 1, j), (i, j - 1)),
            key=lambda k: float(table[k]) if k in table and k != (0, 0) else float("inf"),
        )
        path.append(at)
    return table[3, 3], path
""")
    costs = paddle.to_tensor([[0.1, 3.0, 1.0], [2.0, 0.5, 0.1], [4.0, 1.0, 0.2]])
    assert_same(function, costs, costs.t(), grad=False)


def test_a_new_key() -> None:
    """D2: the dict has it, the number of the run."""
    function = function_of(
        "def f(x):\n    table = {}\n    table[x.item(), 1] = x\n    return table"
    )
    assert_same(function, *NUMBERS, grad=False)


@pytest.mark.parametrize(
    "change", ["seen.add((i, 1))", "table.pop((i, 1))", "table.setdefault((i, 1), 2)"]
)
def test_what_hashes_is_compared(change: str) -> None:
    """D2: it is found by what it is on the run."""
    function = function_of(f"""
def f(x):
    i, seen, table = x.item(), {{(1, 1)}}, {{(1, 1): 2}}
    {change}
    return len(seen), len(table)
""")
    assert_same(function, *NUMBERS, grad=False)


def test_tensors_are_found_by_what_they_are() -> None:
    """A1: the hash of a tensor is that of the object."""
    function = function_of("""
def f(x):
    y = x + 0
    return x in {1: 2}, x in {x: 1}, y in {x}, (x, 1) in {(x, 1)}, (y, 1) in {(x, 1): 2}
""")
    assert_same(function, *NUMBERS, grad=False)
