"""What variables held at one moment, with the contents of lists, dicts and sets.

A side that changes a list in place can so be undone before the other side is captured::

    xs = [a, [b]]
    freeze(xs)                      Frozen(xs, (a, Frozen(xs[1], (b,))))
    xs.append(c); thaw(snapshot)    the same list, which holds a and [b] again
"""

from __future__ import annotations

import collections
import operator
from dataclasses import dataclass
from typing import Any

from d2s.runtime.values.choice import Choice
from d2s.runtime.values.objects import is_list
from d2s.runtime.values.tree import members, pairs, refill


@dataclass(frozen=True)
class Frozen:
    """A container and what it held when the snapshot was taken.

    Attributes:
        container: the list, dict or set itself, for its identity.
        items: frozen items of a list; ``(key, frozen value)`` pairs of a dict; a set's members.
    """

    container: Any
    items: tuple[Any, ...]


def freeze(value: Any, depth: int = 0) -> Any:
    """A snapshot of ``value``: containers inside become :class:`Frozen`."""
    if depth > 20:
        return value
    if is_list(value) or isinstance(value, collections.deque):
        return Frozen(value, tuple(freeze(item, depth + 1) for item in members(value)))
    if isinstance(value, dict):
        return Frozen(value, tuple((key, freeze(item, depth + 1)) for key, item in pairs(value)))
    if isinstance(value, set):
        return Frozen(value, tuple(members(value)))
    if isinstance(value, Choice):
        sides = freeze(value.true, depth + 1), freeze(value.false, depth + 1)
        if sides[0] is value.true and sides[1] is value.false:
            return value
        return value.like(*sides)
    if type(value) is tuple:
        parts = tuple(freeze(item, depth + 1) for item in value)
        return value if all(map(operator.is_, parts, value)) else parts
    if hasattr(type(value), "d2s_freeze"):
        return Frozen(value, value.d2s_freeze())
    return value


def frozen(container: Any, held: Any) -> Frozen:
    """A snapshot of ``container`` when it held the entries of ``held``."""
    pairs = isinstance(held, dict)
    parts = [(key, freeze(item)) for key, item in held.items()] if pairs else map(freeze, held)
    return Frozen(container, tuple(parts))


def thaw(snapshot: object) -> Any:
    """The value of a snapshot, its containers holding again what they held."""
    if isinstance(snapshot, Frozen):
        container, held = snapshot.container, snapshot.items
        if hasattr(type(container), "d2s_thaw"):
            container.d2s_thaw(held)
        elif isinstance(container, list | collections.deque):
            refill(container, [thaw(item) for item in held])
        elif isinstance(container, dict):
            refill(container, {key: thaw(item) for key, item in held})
        else:
            refill(container, held)
        return container
    if type(snapshot) is tuple:
        return tuple(thaw(item) for item in snapshot)
    if isinstance(snapshot, Choice):
        sides = thaw(snapshot.true), thaw(snapshot.false)
        if sides[0] is snapshot.true and sides[1] is snapshot.false:
            return snapshot
        return snapshot.like(*sides)
    return snapshot


def container_of(value: object) -> object:
    """The list, dict or set that a snapshot is of; another value as it is."""
    return value.container if isinstance(value, Frozen) else value


def same_items(one: object, other: object) -> bool:
    """Whether two snapshots show the same objects, one by one."""
    if isinstance(one, Frozen) and isinstance(other, Frozen):
        return one.container is other.container and same_items(one.items, other.items)
    if type(one) is tuple and type(other) is tuple and len(one) == len(other):
        return all(same_items(a, b) for a, b in zip(one, other, strict=True))
    return one is other or (not isinstance(one, Frozen) and _same_key(one, other))


def _same_key(one: object, other: object) -> bool:
    return type(one) is type(other) and isinstance(one, str | int | bool) and one == other
