"""Arguments and results as leaves and a structure (rule G1).

Nested containers, dataclasses and named tuples are walked:

>>> leaves = []
>>> def leaf(thing, path):
...     leaves.append((path, thing))
...     return len(leaves) - 1
>>> rebuild = scan({"a": [1, 2.5]}, leaf)
>>> leaves, rebuild(["x", "y"])
([("['a'][0]", 1), ("['a'][1]", 2.5)], {'a': ['x', 'y']})
"""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable
from typing import Any

from d2s.runtime.values.contents import bare, like, members
from d2s.runtime.values.contents import items as items_of
from d2s.runtime.values.objects import dict_of, fields_of, is_list, is_user_class
from d2s.runtime.values.tensors import SIZE, Sizes, is_array

Rebuild = Callable[[list[Any]], Any]
Parts = tuple[list[tuple[str, Any]], Rebuild]


def is_dataclass_instance(thing: object) -> bool:
    """Whether ``thing`` is an instance (not the class) of a dataclass."""
    return dataclasses.is_dataclass(thing) and not isinstance(thing, type)


def parts(thing: Any) -> Parts | None:
    """What a container holds, one level deep, and a function that makes its like of others.

    Returns:
        ``(path, part)`` pairs and the function; ``None`` for what is no container.
    """
    if type(thing) is list:
        return _numbered(thing), list
    if is_array(thing):
        held: Parts = thing.d2s_parts()
        return held
    if type(thing) is Sizes:
        return _numbered(thing), SIZE
    if isinstance(thing, tuple):
        return _with_attributes(thing, _numbered(thing), _maker_of_tuples(type(thing)))
    if is_list(thing) or isinstance(thing, collections.deque):
        empty = bare(thing)
        return _with_attributes(thing, _numbered(thing), lambda items: like(empty, items))
    if isinstance(thing, dict):
        pairs, empty = items_of(thing), bare(thing)
        keys = [key for key, _ in pairs]

        def make_dict(items: list[Any]) -> Any:
            return like(empty, dict(zip(keys, items, strict=True)))

        return _with_attributes(thing, [(f"[{key!r}]", value) for key, value in pairs], make_dict)
    if type(thing) is set:
        ordered = sorted(thing, key=repr)
        return [(f"{{{index}}}", item) for index, item in enumerate(ordered)], set
    if is_dataclass_instance(thing):
        kind: Any = type(thing)
        names = [field.name for field in dataclasses.fields(kind) if hasattr(thing, field.name)]

        def make_instance(items: list[Any]) -> Any:
            fresh = object.__new__(kind)
            for name, item in zip(names, items, strict=True):
                object.__setattr__(fresh, name, item)
            return fresh

        return [(f".{name}", getattr(thing, name)) for name in names], make_instance
    return None


def _numbered(thing: Any) -> list[tuple[str, Any]]:
    return [(f"[{index}]", item) for index, item in enumerate(members(thing))]


def _maker_of_tuples(kind: Any) -> Rebuild:
    if hasattr(kind, "_make") or is_user_class(kind):
        return lambda items: tuple.__new__(kind, items)
    return tuple


def _with_attributes(thing: Any, held: list[tuple[str, Any]], make: Rebuild) -> Parts:
    """A container of the user's class: its attributes are parts like the items."""
    fields = (dict_of(thing) if is_user_class(type(thing)) else None) or {}
    if not fields:
        return held, make
    count = len(held)

    def build(parts: list[Any]) -> Any:
        made = make(parts[:count])
        fields_of(made).update(zip(fields, parts[count:], strict=True))
        return made

    return [*held, *((f".{name}", value) for name, value in fields.items())], build


def scan(
    thing: Any,
    leaf: Callable[[Any, str], int | None],
    path: str = "",
    around: Callable[[Any, str, Callable[[], Rebuild]], Rebuild] | None = None,
) -> Rebuild:
    """Walk ``thing``; a function that builds its like from new leaves.

    Args:
        thing: any object.
        leaf: called with each part that is no container and its path; gives the position of its
            replacement, or ``None`` to keep it.
        path: how ``thing`` is reached, for messages.
        around: called with each container, its path and a function that walks it; gives the
            builder to use.
    """
    found = parts(thing)
    if found is None:
        position = leaf(thing, path)
        if position is None:
            return lambda leaves: thing
        return lambda leaves: leaves[position]
    held, make = found

    def walk() -> Rebuild:
        items = [scan(item, leaf, f"{path}{step}", around) for step, item in held]
        return lambda leaves: make([item(leaves) for item in items])

    return walk() if around is None else around(thing, path, walk)
