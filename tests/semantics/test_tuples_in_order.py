"""Comparing tuples, lists and objects that hold tensors, and putting them in order (rule E1)."""

from __future__ import annotations

import itertools

import paddle
import pytest

import d2s
from tests.helpers import assert_same, function_of, tensor

TIES = (tensor(2.0, 1.0, 3.0), tensor(1.0, 2.0, 1.0), tensor(1.0, 1.0, 1.0))
NAN = float("nan")
IN_ORDER = ("sorted({})", "sorted({}, reverse=True)", "min({})", "max({})")


@pytest.mark.sampled(6)
@pytest.mark.parametrize("symbol", ["<", "<=", ">", ">=", "==", "!="])
@pytest.mark.parametrize(
    "operands",
    [
        "(x[0], 1) {} (x[1], 2)",
        "(1, x[0]) {} (1, x[1])",
        "(1, x[0]) {} (2, x[1])",
        "[x[0], x[1]] {} [x[1], x[2]]",
        "(x[0].item(), x[1]) {} (x[1].item(), x[0])",
        "(x[0], (x[1], 'a')) {} (x[1], (x[2], 'b'))",
        "(x[0],) {} (x[1], x[2])",
        "[x[0]] {} [x[1], x[2]]",
        "() {} (x[0],)",
    ],
)
def test_two_tuples(symbol: str, operands: str) -> None:
    """E1: the first items that are not equal decide."""
    function = function_of(f"""
def f(x):
    if {operands.format(symbol)}:
        return x * 2
    return x - 1
""")
    assert_same(function, *TIES)


@pytest.mark.parametrize("symbol", ["<", "=="])
def test_what_the_comparison_is(symbol: str) -> None:
    """E1: the comparison of the items that decide, or of the lengths, is the result."""
    function = function_of(f"def f(x):\n    return (x[0], 1) {symbol} (x[1], 2)")
    assert_same(function, *TIES, grad=False)


def test_what_is_not_reached_is_not_compared() -> None:
    """E1: things that cannot be compared raise on the run that comes to them."""
    function = function_of("""
def f(x):
    if (x[0], None) < (x[1], x):
        return x
    return -x
""")
    assert_same(function, *TIES)


@pytest.mark.parametrize("name", ["left", "best"])
def test_variables_that_hold_tuples(name: str) -> None:
    """E1: the best so far, as a tuple in a variable."""
    function = function_of(f"""
def f(x):
    {name} = (float("-inf"), None)
    for place, item in enumerate(x):
        found = (item.round(), place)
        if found > {name}:
            {name} = found
    return {name}
""")
    assert_same(function, *TIES, grad=False)


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    "function", ["sorted({}, reverse=True)", "sorted({})", "min({})", "max({})"]
)
@pytest.mark.parametrize(
    "things",
    [
        "[(x[0], 1), (x[1], 2), (x[2], 0)]",
        "[(x[0], 'b'), (x[1], 'a'), (x[2], 'c')]",
        "[(1, x[0]), (1, x[1]), (0, x[2])]",
        "[(x[i].item(), x[i - 1].item()) for i in range(3)]",
        "[[x[0], x[1]], [x[1]], [x[2], x[0], 3.0], []]",
        "[(x[0], (x[1], 1)), (x[1], (x[0], 2)), (x[2], (x[2], 3))]",
        "[(x[0] > 1, 2.5), (x[1] > 1, x[0].item()), (x[2] > 1, 0.5)]",
        "{'b': x[0], 'a': x[1], 'c': x[2]}.items()",
        "[Card(x[0], 1), Card(x[1], 2), Card(x[2], 0)]",
        "[Job(x[0], 'a'), Job(x[1], 'b'), Job(x[2], 'c')]",
    ],
)
def test_many_tuples(function: str, things: str) -> None:
    """E1: in Python's order, the first of equals first."""
    made = function_of(
        f"""
import dataclasses
import functools

@functools.total_ordering
class Card:
    def __init__(self, rank, suit):
        self.rank, self.suit = rank, suit

    def __lt__(self, other):
        return (self.rank, self.suit) < (other.rank, other.suit)

    def __eq__(self, other):
        return (self.rank, self.suit) == (other.rank, other.suit)

@dataclasses.dataclass(order=True)
class Job:
    cost: object
    name: str = dataclasses.field(compare=False)

def shown(thing):
    if isinstance(thing, list):
        return [shown(each) for each in thing]
    if isinstance(thing, Job):
        return thing.cost, thing.name
    return (thing.rank, thing.suit) if isinstance(thing, Card) else thing

def f(x):
    found = {function.format(things)}
    return shown(found)
""",
        "f",
    )
    assert_same(made, *TIES, grad=False)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("items", list(itertools.permutations([NAN, 1.0, 3.0, 2.0], 4))[::3])
@pytest.mark.parametrize(
    "function", ["sorted({})", "sorted({}, reverse=True)", "min({})", "max({})"]
)
def test_nan_in_tuples(items: tuple[float, ...], function: str) -> None:
    """E1: NaN wins from nobody; where it stands decides what Python finds."""
    pairs = "[(item, place) for place, item in enumerate(x)]"
    made = function_of(f"def f(x):\n    return {function.format(pairs)}")
    assert_same(made, tensor(*items), grad=False)


def test_one_nan_equals_itself() -> None:
    """E1: Python asks first whether two items are one object."""
    function = function_of("""
def f(x):
    y = x[0]
    return min([(y, 2), (y, 1), (x[1], 0)]), (y, 1) < (y, 2), sorted([(y, 3), (y, 2), (y, 1)])
""")
    assert_same(function, tensor(NAN, 1.0), tensor(2.0, 1.0), grad=False)


def test_the_gradient_goes_to_the_winner() -> None:
    """C7, E1: through what the tuple holds besides what it is compared by."""
    function = function_of("""
def f(x):
    score, _, row = max((x[i] * x[i], i, x[i:i + 2]) for i in range(2))
    return score * row.sum()
""")
    assert_same(function, tensor(2.0, 1.0, 3.0), tensor(1.0, 2.0, 5.0), tensor(1.0, 1.0, 1.0))


def test_paths_of_different_length() -> None:
    """E1: a segmentation keeps the best way to each place, with what led there."""
    function = function_of("""
def f(x):
    best = [(0.0, [])]
    for end in range(1, x.shape[0] + 1):
        options = []
        for start in range(max(0, end - 2), end):
            score = x[start:end].sum()
            options.append((best[start][0] + score.item(), best[start][1] + [(start, end)]))
        best.append(max(options))
    return best[-1]
""")
    assert_same(function, tensor(1.0, -2.0, 3.0, 1.0), tensor(-1.0, -1.0, 2.0, -3.0), grad=False)


def test_too_many_things_are_refused() -> None:
    """Objects are compared pair by pair; so many pairs are no program."""
    function = function_of(
        """
class Item:
    def __init__(self, value):
        self.value = value

    def __lt__(self, other):
        return self.value < other.value

def f(x):
    return min([Item(row) for row in x]).value
""",
        "f",
    )
    with pytest.raises(d2s.errors.UnsupportedInGraphError, match="D2S205"):
        d2s.to_static(function)(paddle.arange(80, dtype="float32"))


ROWS = (tensor(0.5, -1.0, 2.0, 3.0), tensor(4.0, 3.0, 2.0, 1.0), tensor(1.5, 1.0, -4.0, 9.0))


@pytest.mark.sampled(
    4, also=["-() if x[i] > 2 else (1.5, i) if x[i] > 0 else (1.5, 0, x[i].item())"]
)
@pytest.mark.parametrize(
    "item",
    [
        "(x[i].item() > 0, [(int(j) * 7 + i) % 3 for j in range((x > 9).sum() + i)])",
        "[int(x[i] > 1), i % 2, i]",
        "(tuple([('ab'[j % 2], x[j].item()) for j in range(4) if x[j] > i]), i)",
        "() if x[i] > 2 else (1.5, i) if x[i] > 0 else (1.5, 0, x[i].item())",
        "('b', i) if x[i] > 1 else ('a',) if x[i] > 0 else ('c', i, x[i].item())",
        "[0] * i",
        "()",
    ],
)
@pytest.mark.parametrize("reverse", ["", ", reverse=True"])
def test_lists_and_tuples_of_several_lengths(item: str, reverse: str) -> None:
    """E1: of two items of a list of the run that begin alike the shorter one is less."""
    function = function_of(f"""
def f(x):
    out = []
    for i in range((x > -9).sum()):
        out.append({item})
    return sorted(out{reverse}), max(out), sorted(out, key=lambda found: [found]{reverse})
""")
    assert_same(function, *ROWS, grad=False)


def test_a_heap_of_lists() -> None:
    """E1: items of a heap are compared as Python does it, where the numbers in front tie."""
    function = function_of("""
import heapq

def f(x):
    heap = [(0.0, [0])]
    done = []
    for i in range(3):
        score, path = heapq.heappop(heap)
        for j in range(2):
            gain = score + (x[i] > 0).item() * j
            if x[j] > 0:
                heapq.heappush(heap, (gain, path + [j]))
            else:
                done.append((gain, path))
        heapq.heappush(heap, (score, path + [i]))
    return done, [heapq.heappop(heap)[1] for _ in range(3)]
""")
    assert_same(function, *ROWS, grad=False)


def test_a_heap_of_objects_with_tuples_that_grow() -> None:
    """E1, D3: a best first search; a data class with an order, and a path among its fields."""
    function = function_of("""
import heapq
from dataclasses import dataclass

@dataclass(order=True)
class Node:
    bound: float
    depth: int
    taken: tuple

def f(x):
    heap = [Node(0.0, 0, ())]
    opened = 0
    while heap and opened < 5:
        node = heapq.heappop(heap)
        opened += 1
        if node.depth < 3:
            for choice in (0, 1):
                bound = node.bound + float(x[node.depth]) * choice
                if bound > -2:
                    heapq.heappush(heap, Node(bound, node.depth + 1, (*node.taken, choice)))
    return opened, [(node.bound, node.taken) for node in heap]
""")
    assert_same(function, *ROWS, grad=False)


def test_tuples_whose_last_items_have_no_order() -> None:
    """E1: the run raises where their first items are equal, in the words of Python."""

    def f(x):
        best = (0.0, None)
        kept = [v for v in x.tolist() if v > 0]
        return max(best, (len(kept) / 2, tuple(kept)))

    assert_same(f, *(tensor(*each) for each in ((1.0, 3.0, 2.0), (1.0, 2.0, 0.5), (-1.0, -2.0))))


GROWN = [
    ("kept", "more"),
    ("kept", "kept[::-1]"),
    ("kept", "[1.0, 2.0]"),
    ("(1, kept)", "(1, more)"),
    ("tuple(kept)", "tuple(kept[::-1])"),
    ("pairs", "pairs[1:]"),
    ("names", "['a']"),
    ("[kept]", "[more]"),
    ("(len(kept) / 2, tuple(kept))", "(len(more) / 3, (1, 2))"),
    ("kept", "(1,)"),
    ("kept", "None"),
]


@pytest.mark.sampled(4)
@pytest.mark.parametrize("symbol", ["<", "<=", ">", ">="])
@pytest.mark.parametrize(("left", "right"), GROWN)
def test_the_order_of_lists_that_have_grown(left: str, right: str, symbol: str) -> None:
    """D1, E1: the first items that differ decide, else the length; other kinds have no order."""
    f = function_of(f"""
def f(x):
    kept = [v for v in x.tolist() if v > 0]
    more = [v for v in x.tolist() if v > 1]
    pairs = [(int(v), v) for v in kept]
    names = ["a" if v > 1 else "b" for v in kept]
    try:
        return {left} {symbol} {right}
    except TypeError as error:
        return str(error)
""")
    calls = [[1.0, 2.0], [2.0, 1.0], [0.5, 3.0], [-1.0, -1.0], [2.0, 1.0, 2.0], [1.0, 3.0, -2.0]]
    assert_same(f, *(tensor(*each) for each in calls))
