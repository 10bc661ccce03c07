"""Containers of Python that are given what the run decides the length of (rules A1, D1, D2)."""

from __future__ import annotations

import collections
from typing import Any

import paddle
import pytest

import d2s
from d2s.errors import ContainerInGraphError
from tests.helpers import assert_same, function_of

NUMBERS = (
    paddle.to_tensor([1.0, 2.0, 3.0]),
    paddle.to_tensor([3.0, -7.0, 3.0]),
    paddle.to_tensor([1.0, 0.0, 9.0]),
)

GIVEN = {
    "filtered": "[v for v in x.tolist() if v > 1]",
    "generator": "(v for v in x.tolist() if v > 1)",
    "slice": "x.tolist()[: int(x[0])]",
    "tensors": "[v * 2 for v in x if v > 1]",
    "pairs": "[(int(v), v) for v in x if v > 1]",
    "dict": "{int(v): 1.5 for v in x}",
    "set": "{v for v in x.tolist()}",
    "counts": "{int(v): 2 for v in x}",
}
LISTS, KEYS, PAIRS = (
    ("filtered", "generator", "slice"),
    ("filtered", "generator", "set"),
    ("pairs", "dict"),
)

CASES = {
    "list": ("[1.0, 5.0]", (*LISTS, "tensors", "dict"), ("o.extend(g)", "o[1:1] = g", "o[:1] = g")),
    "list in place": ("[1.0, 5.0]", ("filtered", "slice", "tensors"), ("o += g",)),
    "deque": ("collections.deque([5.0], maxlen=3)", LISTS, ("o.extend(g)", "o.extendleft(g)")),
    "deque in place": ("collections.deque([5.0], maxlen=3)", ("filtered", "slice"), ("o += g",)),
    "set": (
        "{1.0, 9.0}",
        KEYS,
        (
            "o.update(g)",
            "o.difference_update(g)",
            "o.intersection_update(g)",
            "o.symmetric_difference_update(g)",
            *(f"o {operator}= set(g)" for operator in "|-&^"),
        ),
    ),
    "dict": ("{1: 5.5}", PAIRS, ("o.update(g)",)),
    "OrderedDict": ("collections.OrderedDict({1: 5.5})", PAIRS, ("o.update(g)",)),
    "Counter": (
        "collections.Counter([1, 1])",
        ("filtered", "counts"),
        ("o.update(g)", "o.subtract(g)"),
    ),
}
MATRIX = [
    (own, operation, GIVEN[given])
    for own, givens, operations in CASES.values()
    for operation in operations
    for given in givens
    if not (given == "generator" and operation.startswith("o["))
]

PLACES = {
    "straight": "{operation}",
    "a branch": "if x[0] > 1:\n        {operation}",
    "a callee": "change(o, g)",
    "an attribute": "b = Box(o)\n    if x[2] > 3:\n        b.change(g)\n"
    "    else:\n        b.change(g)",
}


def made(own: str, operation: str, given: str, place: str) -> Any:
    """A function that changes a container under two names."""
    text = f"""
import collections

def change(o, g):
    {operation}

class Box:
    def __init__(self, o):
        self.o = o

    def change(self, g):
        o = self.o
        {operation}

def f(x):
    o = {own}
    other = [o]
    g = {given}
    {PLACES[place].format(operation=operation)}
    return [sorted(each) if type(each) is set else each for each in (o, *other)], other[0] is o
"""
    if given.startswith("("):  # one that is made where it is used
        head, tail = text.split("def f(x):")
        tail = tail.replace(f"    g = {given}\n", "").replace("g)", f"{given})")
        text = f"{head}def f(x):{tail}"
    return function_of(text, "f")


@pytest.mark.parametrize(("own", "operation", "given"), MATRIX)
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.sampled(24)
def test_the_container_is_changed_under_each_name(
    own: str, operation: str, given: str, place: str
) -> None:
    """A1, D1, D2: a method, ``+=`` or a slice changes the one container, for all who hold it."""
    assert_same(made(own, operation, given, place), *NUMBERS, grad=False)


NEW = {
    "a set's methods": "s = {1, 9}\ng = [int(v) for v in x if v > 0]\n"
    "made = s.union(g), s.intersection(g), s.difference(g), s.symmetric_difference(g)\n"
    "return [sorted(each) for each in made], s.issuperset(g), s.issubset(g), s.isdisjoint(g), "
    "sorted(s)",
    "fromkeys": "g = [int(v) for v in x if v > 0]\n"
    "return dict.fromkeys(g), dict.fromkeys(g, 1.5), collections.OrderedDict.fromkeys(g, 'a')",
    "frozenset": "s = t = frozenset(int(v) for v in x if v > 0)\ns |= {77}\n"
    "return sorted(s), sorted(t), 77 in t, type(s) is frozenset",
    "counters": "a = collections.Counter(int(v) for v in x if v > 0)\n"
    "b, c = collections.Counter([1, 1, 3, 5]), collections.Counter((x * 2 - 1).tolist())\n"
    "some = a + b, a - b, a & b, a | b, b + a, b - a, b & a, b | a\n"
    "return some, a + c, c - a, sum((c & a).values())",
    "counters of pairs": "i = x.tolist()\na = collections.Counter(zip(i, i[1:]))\n"
    "b = collections.Counter([(1.0, 2.0), (2.0, 3.0), (1.0, 2.0)])\na.subtract(b)\n"
    "return a, a + b, b | a",
    "dicts": "a, b = {int(x[0]): 1.5, 2: x[1]}, {1: x[0], 5: x[2]}\n"
    "c = a | {2: 7}\na |= b\nreturn c, a, b | c, type(collections.OrderedDict() | c) is dict",
    "repeated": "o = [1.0, 2.0]\nother = o\no *= int(x[0])\nt = (1.0,)\nt *= int(x[0])\n"
    "return o, other, t",
    "numbers of two kinds": "s = {1, 9}\ns.update(x.tolist()[: int(x[0])])\n"
    "return len(s), sorted(s), 1 in s, max(s), min(s, key=lambda v: -v)",
}


@pytest.mark.sampled(2, also=["numbers of two kinds", "dicts"])
@pytest.mark.parametrize("body", NEW.values(), ids=NEW)
def test_what_is_made_of_it(body: str) -> None:
    """D2, E1: new sets, dicts and counters; a number is one key, whatever its type."""
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    function = function_of(f"import collections\n\ndef f(x):\n{lines}", "f")
    assert_same(function, *NUMBERS, grad=False)


IN_ORDER = (
    "list(s)", "[*s]", "tuple(s)", "collections.Counter(s)", "list(collections.deque(s))",
    "[0, 0, *s]",
    "dict.fromkeys(s)", "out.extend(s) or out", "out.__setitem__(slice(0, 0), s) or out",
)  # fmt: skip


@pytest.mark.parametrize("use", IN_ORDER)
def test_the_order_of_a_set(use: str) -> None:
    """D2: that of the set of Python's with the same items."""
    text = f"""
import collections

def f(x):
    s, out = {{int(v) * 9 for v in x}}, [int(v) for v in x if v > 1]
    return {use}
"""
    assert_same(function_of(text, "f"), *NUMBERS, grad=False)


@pytest.mark.parametrize("use", ["sorted(s, key=lambda v: v * v)", "max(s, key=lambda v: 0)"])
def test_the_order_of_a_set_is_not_guessed(use: str) -> None:
    """D2: it is that of hashes; the run refuses what shows it where two keys are equal."""
    text = f"""
def f(x):
    s = {{int(v) for v in x}}
    return {use}
"""
    function = function_of(text, "f")
    with pytest.raises(ContainerInGraphError, match="hashes"):
        d2s.to_static(function)(paddle.to_tensor([3.0, -3.0, 1.0]))


def test_keys_that_differ_put_a_set_in_order() -> None:
    """E1: a key that tells the items apart says which comes first."""

    def f(x):
        s = {int(v) for v in x}
        return sorted(s, key=lambda v: -v), max(s, key=lambda v: -v), min(s, key=lambda v: v % 11)

    assert_same(f, *NUMBERS, grad=False)


def test_a_generator_expression_that_looks_into_what_it_extends() -> None:
    """A1: Python takes item by item; what a tensor has no part in stays so, the rest is refused."""

    def of_python(x):
        out = [1.0]
        out.extend(v for v in [1.0, 2.0, 2.0] if v not in out)
        return out, x

    def of_run(x):
        out, some = [1.0], [v for v in x.tolist() if v > 0]
        out.extend(v for v in some if v not in out)
        return out

    assert_same(of_python, *NUMBERS, grad=False)
    with pytest.raises(ContainerInGraphError, match="looks into it"):
        d2s.to_static(of_run)(NUMBERS[0])


def test_one_of_two_lists_is_added_in_place() -> None:
    """A1, B4: the list under its other name is the longer one, too."""

    def f(x):
        out = [x[0]]
        other = out
        some = [x[1]] if x[0] > 1 else [x[2], x[1]]
        out += some
        return out, other, other is out

    assert_same(f, *NUMBERS)


def test_a_dict_that_a_branch_has_chosen() -> None:
    """D2: what may be the same dict gets the key, too."""

    def f(x):
        one, other = {}, {1: 2.0}
        chosen = one if x[0] > 1 else other

        def put(table, key):
            table[key] = 5.0

        if x[2] > 3:
            put(one, int(x[0]))
        return chosen, one, other, len(chosen)

    assert_same(f, *NUMBERS, grad=False)


def test_a_counter_of_nothing() -> None:
    """D2: of what no run has counted there is 0."""

    def f(x):
        counts = collections.Counter()
        counts.update(int(v) for v in x if v > 100)
        return counts, counts[3], len(counts)

    assert_same(f, *NUMBERS, grad=False)
