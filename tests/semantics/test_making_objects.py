"""What a tensor decides while an object is made is what the object is (B4, G1).

Python, and no generated code, calls ``__new__``, ``__init__`` and the ``__call__`` of a metaclass.
A container that its own ``__init__`` changes has no name yet that a branch could bind anew.
"""

from __future__ import annotations

import collections
import dataclasses
import typing
from typing import Any

import pytest

from tests.helpers import assert_same, tensor

CALLS = (tensor(1.0, 2.0, 3.0), tensor(-1.0, 2.0, -3.0), tensor(3.0, 4.0, 5.0))


class Grown(list):
    def __init__(self, x: Any) -> None:
        super().__init__([x])
        if x.sum() > 0:
            self.append(x + 1)


class GrownTwice(Grown):
    def __init__(self, x: Any) -> None:
        super().__init__(x * 2)
        if x.max() > 3:
            self.append(x - 1)


class GrownByLoop(list):
    def __init__(self, x: Any) -> None:
        list.__init__(self, [x])
        while x.sum() < 9:
            x = x + 1
            self.add(x)

    def add(self, x: Any) -> None:
        self.append(x)


class Keyed(dict):
    def __init__(self, x: Any) -> None:
        super().__init__(a=x)
        if x.sum() > 0:
            self["b"] = x + 1


class Ordered(collections.OrderedDict):
    def __init__(self, x: Any) -> None:
        super().__init__()
        self["a"] = x
        if x.sum() > 0:
            self["b"] = x + 1


class Marks(set):
    def __init__(self, x: Any) -> None:
        super().__init__([1])
        if x.sum() > 0:
            self.add(2)


class Recent(collections.deque):
    def __init__(self, values: Any, most: int) -> None:
        super().__init__(maxlen=most)
        for value in values:
            if value > 0:
                self.append(value)

    @classmethod
    def of(cls, x: Any) -> Recent:
        return cls(x, 2)


class Tree(dict):
    def __init__(self, x: Any, depth: int = 0) -> None:
        super().__init__(value=x)
        if depth < 2:
            if x.sum() > 0:
                self["left"] = Tree(x - 1, depth + 1)
            else:
                self["right"] = Tree(x + 1, depth + 1)


class Holds:
    def __init__(self, x: Any) -> None:
        self.items = Grown(x)
        if x.sum() > 0:
            self.items.append(x)


class Doubling(type):
    def __call__(cls, x: Any) -> Any:
        if x.sum() > 0:
            x = x * 2
        return super().__call__(x)


class Doubled(list, metaclass=Doubling):
    def __init__(self, x: Any) -> None:
        super().__init__([x])
        if x.sum() > 0:
            self.append(x + 1)


@pytest.mark.parametrize(
    "made",
    [Grown, GrownTwice, GrownByLoop, Doubled],
    ids=lambda kind: kind.__name__,
)
def test_a_list_that_fills_itself(made: Any) -> None:
    """B4: behind the call it has the length and the items that ``__init__`` has given it."""

    def function(x: Any) -> Any:
        items = made(x)
        return len(items), items[-1], [item * 2 for item in items], made(x - 1)

    assert_same(function, *CALLS)


@pytest.mark.parametrize("made", [Keyed, Ordered], ids=lambda kind: kind.__name__)
def test_a_dict_that_fills_itself(made: Any) -> None:
    """B4: its keys are those of the run."""

    def function(x: Any) -> Any:
        table = made(x)
        return len(table), "b" in table, table["a"]

    assert_same(function, *CALLS)


def _marks(x: Any) -> Any:
    marks = Marks(x)
    return x, len(marks), 2 in marks


def _recent(x: Any) -> Any:
    one, other = Recent.of(x), Recent(x, 3)
    return len(one), len(other), list(other)


def _tree(x: Any) -> Any:
    tree = Tree(x)
    return len(tree), tree["value"], "left" in tree, tree


def _attribute(x: Any) -> Any:
    held = Holds(x)
    return len(held.items), held.items[-1]


def _in_loops(x: Any) -> Any:
    total = x.sum() * 0
    for step in range(3):
        items = Grown(x - step)
        total = total + len(items) * items[-1].sum()
    count = 0
    while x.sum() < 12:
        count += len(Grown(x))
        x = x + 1
    return total, count


def _in_branches(x: Any) -> Any:
    items = Grown(x) if x.max() > 2 else Grown(-x)
    return len(items), items[-1], [len(Grown(value)) for value in x]


def _by_map(x: Any) -> Any:
    return [len(items) for items in map(Grown, [x, x * 2])]


@pytest.mark.parametrize(
    "function",
    [_marks, _recent, _tree, _attribute, _in_loops, _in_branches, _by_map],
    ids=lambda function: function.__name__,
)
def test_where_they_are_made(function: Any) -> None:
    """B4: sets, deques and trees; in attributes, loops, branches, and by ``map``."""
    assert_same(function, *CALLS)


class Span(collections.namedtuple("Span", "low high")):
    """Says what its ends are where it is made."""

    __slots__ = ()

    def __new__(cls, low: Any, high: Any) -> Span:
        if (low > high).any():
            raise ValueError("the lower end is above the upper one")
        return super().__new__(cls, low, high)

    def __add__(self, other: Any) -> Any:
        return Span(self.low + other, self.high + other)


class Around(typing.NamedTuple):
    low: Any
    high: Any

    def middle(self) -> Any:
        return (self.low + self.high) / 2


class Turned(Around):
    def __new__(cls, x: Any) -> Turned:
        if x.sum() > 0:
            x = -x
        return super().__new__(cls, x, x + 1)


class Pair(tuple):
    def __new__(cls, x: Any) -> Pair:
        return super().__new__(cls, (x, x + 1) if x.sum() > 0 else (x, x - 1))


class Chosen:
    def __new__(cls, kind: str, x: Any) -> Any:
        return object.__new__(Positive if kind == "p" else Negative)


class Positive(Chosen):
    def __init__(self, kind: str, x: Any) -> None:
        self.x = x.abs() if x.min() < 0 else x


class Negative(Chosen):
    def __init__(self, kind: str, x: Any) -> None:
        self.x = -x


class Registry(type):
    known: typing.ClassVar[dict[str, Any]] = {}

    def __new__(cls, name: str, bases: Any, space: Any) -> Any:
        cls.known[name] = super().__new__(cls, name, bases, space)
        return cls.known[name]

    def __getitem__(cls, name: str) -> Any:
        return cls.known[name]

    def __len__(cls) -> int:
        return len(cls.known)


class Scale(metaclass=Registry):
    def __init__(self, by: float) -> None:
        self.by = by

    def __call__(self, x: Any) -> Any:
        return x * self.by if x.sum() > 0 else x


@dataclasses.dataclass
class Point:
    x: Any
    count: int = 0


@dataclasses.dataclass
class Bent(Point):
    def __init__(self, x: Any) -> None:
        super().__init__(x * 2 if x.sum() > 0 else x, 3)


def _span(x: Any) -> Any:
    try:
        found = Span(x, x * 0 + 4) + 1
    except ValueError:
        return x * 3
    return found.high + found.low


def _span_that_raises(x: Any) -> Any:
    return (Span(x, x * 0 + 4) + 1).high


def _turned(x: Any) -> Any:
    return Turned(x).middle(), Turned(x)


def _turned_in_a_loop(x: Any) -> Any:
    found = Turned(x)
    for _ in range(5):
        found = Turned(found.high * 0.5)
        if found.low.sum() > 100:
            break
    return found


def _pair(x: Any) -> Any:
    pair = Pair(x)
    return pair[0] + pair[1], len(pair)


def _chosen(x: Any) -> Any:
    return Chosen("p", x).x + Chosen("n", x).x


def _registered(x: Any) -> Any:
    return Scale["Scale"](3.0)(x), len(Scale)


def _bent(x: Any) -> Any:
    bent = Bent(x)
    return bent.x, bent.count


@pytest.mark.sampled(2, also=["_bent"])
@pytest.mark.parametrize(
    "function",
    [
        _span,
        _span_that_raises,
        _turned,
        _turned_in_a_loop,
        _pair,
        _chosen,
        _registered,
        _bent,
    ],
    ids=lambda function: function.__name__,
)
def test_new_and_metaclasses(function: Any) -> None:
    """G1: ``__new__``, metaclasses and written ``__init__`` are part of the program."""
    assert_same(function, *CALLS)
