"""Methods of containers of Python that are given what the run decides the length of.

The container becomes one of the run, and its method is called; one that changes nothing is that of
a copy::

    queue.extend(k for k in near.tolist() if seen[k] < 0)
    counts.update(x[mask].tolist())
"""

from __future__ import annotations

import collections
import functools
from collections.abc import Callable
from typing import Any, Final

from d2s.runtime.builtins.keyed import dict_, set_
from d2s.runtime.lists.becoming import become
from d2s.runtime.lists.dynamic_dict import DynamicDict, pairs_in
from d2s.runtime.lists.dynamic_list import DynamicList
from d2s.runtime.lists.dynamic_set import DynamicSet
from d2s.runtime.lists.items.elements import Element
from d2s.runtime.lists.items.structures import union
from d2s.runtime.lists.iteration import indexed, items_of
from d2s.runtime.loops.comprehensions import list_, list_of
from d2s.runtime.python.stores import check_changed
from d2s.runtime.values.tree import is_mapping


def is_of_run(thing: object) -> bool:
    """Whether the run decides how many items ``thing`` has."""
    return indexed(thing) is not None


def _listed(thing: object) -> Any:
    """``thing`` as a list, dict or set of the run where it is one of those."""
    return list_of(thing) if is_of_run(thing) and not isinstance(thing, DynamicList) else thing


def _room(owner: object, given: DynamicList) -> Element:
    """What ``owner`` has to have room for when it is given the items of ``given``."""
    if not is_mapping(owner):
        return (set_(given) if isinstance(owner, set) else given.iterated()).element
    if isinstance(owner, collections.Counter) and not isinstance(given, DynamicDict):
        return DynamicDict.counted(given).element
    return pairs_in(given).element


def changing(name: str) -> Callable[..., Any]:
    """A method that changes the container."""

    def change(owner: object, *others: object, **named: object) -> Any:
        given = [_listed(other) for other in others]
        check_changed(owner)
        room = (_room(owner, other) for other in given if isinstance(other, DynamicList))
        made = become(owner, functools.reduce(union, room))
        return getattr(made, name)(*given, **named)

    return change


def reading(name: str) -> Callable[..., Any]:
    """A method of a set that gives a new one, or whether something holds."""

    def read(owner: set[Any] | frozenset[Any], *others: object) -> Any:
        if len(others) != 1 and name not in _OF_SEVERAL:
            raise TypeError(f"set.{name}() takes exactly one argument ({len(others)} given)")
        room = functools.reduce(
            union, (set_(other).element for other in others if is_of_run(other))
        )
        result: Any = DynamicSet.of_container(owner, "set", room)
        for other in others:
            result = getattr(result, name)(other)
        return result

    return read


def fromkeys(kind: Any, keys: object, value: object = None, /) -> Any:
    """``dict.fromkeys``."""
    if not is_of_run(keys):
        return kind.fromkeys(items_of(keys), value)
    made = dict_(list_(keys, lambda key: (key, value)))
    made.model = kind()
    return made


_CHANGING: Final[dict[type, tuple[str, ...]]] = {
    list: ("extend",),
    collections.deque: ("extend", "extendleft"),
    set: ("update", "difference_update", "intersection_update", "symmetric_difference_update"),
    dict: ("update",),
    collections.OrderedDict: ("update",),
    collections.defaultdict: ("update",),
}

_READING: Final = (
    "union", "intersection", "difference", "symmetric_difference",
    "issubset", "issuperset", "isdisjoint",
)  # fmt: skip

_OF_SEVERAL: Final = ("union", "intersection", "difference")

METHODS: Final[dict[tuple[type, str], Callable[..., Any]]] = {
    **{(kind, name): changing(name) for kind, names in _CHANGING.items() for name in names},
    **{(kind, name): reading(name) for kind in (set, frozenset) for name in _READING},
}
"""Methods that are written in C."""

TAKING_ALL: Final = frozenset(name for _, name in METHODS) | {"subtract"}
"""Names of methods that take all items of what they are given."""

OF_COUNTERS: Final[dict[Any, Callable[..., Any]]] = {
    getattr(collections.Counter, name): changing(name) for name in ("update", "subtract")
}
"""Methods that are written in Python."""
