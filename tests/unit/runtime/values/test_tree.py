"""Containers taken apart and made again, by the one module that knows them (rules D1, G1)."""

from __future__ import annotations

import collections
import dataclasses
from typing import Any, NamedTuple

import pytest

from d2s.runtime.values import tree
from d2s.runtime.values.container_kinds import Registered


class Point(NamedTuple):
    x: Any
    y: Any


@dataclasses.dataclass
class Box:
    low: Any
    high: Any


class Stack(list):  # type: ignore[type-arg]
    def append(self, item: Any) -> None:
        raise AssertionError("no method of the user's class runs")

    __iter__ = extend = __setitem__ = append  # type: ignore[assignment]


class Table(dict):  # type: ignore[type-arg]
    def items(self) -> Any:
        raise AssertionError("no method of the user's class runs")

    __setitem__ = update = items  # type: ignore[assignment]


class Pair(tuple):  # type: ignore[type-arg]
    __slots__ = ()


def named(container: Any, **attributes: Any) -> Any:
    container.__dict__.update(attributes)
    return container


def stack(*items: Any) -> Stack:
    made = Stack.__new__(Stack)
    list.extend(made, items)
    return made


CONTAINERS = {
    "list": [1, "b"],
    "tuple": (1, "b"),
    "named tuple": Point(1, "b"),
    "tuple of a class": Pair((1, "b")),
    "dict": {"a": 1, 2: "b"},
    "ordered dict": collections.OrderedDict(a=1, b="b"),
    "defaultdict": collections.defaultdict(list, a=1, b="b"),
    "counter": collections.Counter("aab"),
    "set": {1, "b"},
    "frozenset": frozenset({1, "b"}),
    "deque": collections.deque([1, "b"], maxlen=3),
    "dataclass": Box(1, "b"),
    "list of a class": named(stack(1, "b"), name="s"),
    "dict of a class": named(Table(a=1, b="b"), name="t"),
}
NO_CONTAINERS = [1, "text", b"bytes", range(3), None, object(), Box, Point, iter([1]), slice(1)]


def shown(container: Any) -> Any:
    """What a container is, past methods of its class; a set has no order."""
    pairs: Any = tree.pairs(container)
    if isinstance(container, set | frozenset):
        pairs = {(0, item) for _, item in pairs}
    return type(container), pairs, getattr(container, "__dict__", None)


@pytest.mark.parametrize("name", CONTAINERS)
def test_a_copy_has_class_keys_items_and_attributes(name: str) -> None:
    """G1: what is rebuilt of its own parts is the same."""
    container = CONTAINERS[name]
    copied = tree.map_children(lambda item: item, container)
    assert shown(copied) == shown(container)
    leaves, rebuild = tree.flatten(container)
    assert shown(rebuild(leaves)) == shown(container)


@pytest.mark.parametrize("name", CONTAINERS)
def test_other_items_stand_in_the_same_places(name: str) -> None:
    """G1: the order of what is taken apart is the order of what is put together."""
    container = CONTAINERS[name]
    found = tree.parts(container)
    assert found is not None
    held, make = found
    again = tree.parts(make([f"new {path}" for path, _ in held]))
    assert again is not None
    assert [path for path, _ in again[0]] == [path for path, _ in held]
    assert sorted(item for _, item in again[0]) == sorted(f"new {path}" for path, _ in held)


@pytest.mark.parametrize("name", [name for name in CONTAINERS if tree.is_mutable(CONTAINERS[name])])
def test_a_refilled_container_is_the_same_object(name: str) -> None:
    """D1: state is put back into the objects that the user's code knows."""
    container = tree.map_children(lambda item: item, CONTAINERS[name])
    before = shown(container)
    table = dict.fromkeys("xyz", 1) if tree.is_mapping(container) else [7, 8, 9]
    assert tree.refill(container, table) is container
    assert sorted(tree.members(container)) == ([1] * 3 if tree.is_mapping(container) else [7, 8, 9])
    contents = before[1]
    old = dict(contents) if tree.is_mapping(container) else [item for _, item in contents]
    tree.refill(container, old)
    assert shown(container) == before


def test_factory_and_limit_are_kept() -> None:
    """B2: a container that stands for two goes on as either of them would."""
    assert tree.blank(collections.defaultdict(list, a=1)).default_factory is list
    assert tree.like(collections.deque([1], maxlen=1), [2]).maxlen == 1


@pytest.mark.parametrize("thing", NO_CONTAINERS, ids=lambda thing: type(thing).__name__)
def test_what_is_no_container_is_a_leaf(thing: Any) -> None:
    """G1: a class is none, nor is an iterator."""
    assert tree.kind_of(thing) is None
    assert tree.children(thing) == []
    assert tree.map_children(str, thing) is thing


def test_a_part_is_found_and_replaced() -> None:
    """B3: one object inside of others, at any depth, also in a slice."""
    part = object()
    whole = {"a": [1, (part, slice(part, 2))], "b": [2]}
    assert tree.any_leaf(lambda leaf: leaf is part, whole)
    assert tree.replaced(whole, part, 5) == {"a": [1, (5, slice(5, 2))], "b": [2]}
    assert tree.replaced(whole, object(), 5) is whole
    assert tree.any_leaf(lambda leaf: leaf is None, [[None]])
    assert not tree.any_leaf(lambda leaf: leaf is part, whole, depth=1)


def test_the_parts_do_not_keep_the_container() -> None:
    """G2: what a program remembers of its arguments holds none of their tensors."""
    import gc
    import weakref

    class Leaf:
        pass

    for make in (lambda leaf: [leaf], lambda leaf: (leaf,), lambda leaf: Box(leaf, 1)):
        leaf = Leaf()
        gone = weakref.ref(leaf)
        rebuild = tree.flatten(make(leaf))[1]
        del leaf
        gc.collect()
        assert gone() is None
        assert tree.members(rebuild([1, 2]))[0] == 1


class Frozen:
    """A container that the library does not know."""

    def __init__(self, **items: Any) -> None:
        self.table = items


def test_a_registered_container_is_taken_apart() -> None:
    """G1: a class joins by its own functions, and no other place is told."""
    kind = Registered(
        Frozen,
        lambda frozen: (list(frozen.table), list(frozen.table.values())),
        lambda keys, items: Frozen(**dict(zip(map(str, keys), items, strict=True))),
    )
    assert tree.kind_of(Frozen()) is None
    with tree.registered(kind):
        assert tree.children(Frozen(a=1, b=2)) == [1, 2]
        assert tree.map_children(str, Frozen(a=1)).table == {"a": "1"}
        leaves, rebuild = tree.flatten([Frozen(a=[1, 2])])
        assert leaves == [1, 2]
        assert rebuild([3, 4])[0].table == {"a": [3, 4]}
    assert tree.kind_of(Frozen()) is None
