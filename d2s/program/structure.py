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

import dataclasses
from collections.abc import Callable
from typing import Any

Rebuild = Callable[[list[Any]], Any]


def is_dataclass_instance(thing: object) -> bool:
    """Whether ``thing`` is an instance (not the class) of a dataclass."""
    return dataclasses.is_dataclass(thing) and not isinstance(thing, type)


def scan(thing: Any, leaf: Callable[[Any, str], int | None], path: str = "") -> Rebuild:
    """Walk ``thing``; a function that builds its like from new leaves.

    Args:
        thing: any object.
        leaf: called with each part that is no container and its path; gives the position of its
            replacement, or ``None`` to keep it.
        path: how ``thing`` is reached, for messages.
    """
    if isinstance(thing, tuple):
        items = [scan(item, leaf, f"{path}[{index}]") for index, item in enumerate(thing)]
        make = type(thing)._make if hasattr(thing, "_make") else tuple
        return lambda leaves: make(item(leaves) for item in items)
    if type(thing) is list:
        items = [scan(item, leaf, f"{path}[{index}]") for index, item in enumerate(thing)]
        return lambda leaves: [item(leaves) for item in items]
    if isinstance(thing, dict):
        kind = type(thing)
        pairs = [(key, scan(value, leaf, f"{path}[{key!r}]")) for key, value in thing.items()]

        def build_dict(leaves: list[Any]) -> Any:
            made = {key: value(leaves) for key, value in pairs}
            if kind is dict:
                return made
            fresh = thing.copy()
            fresh.update(made)
            return fresh

        return build_dict
    if is_dataclass_instance(thing):
        members = {
            field.name: scan(getattr(thing, field.name), leaf, f"{path}.{field.name}")
            for field in dataclasses.fields(thing)
        }

        def build_instance(leaves: list[Any]) -> Any:
            fresh = object.__new__(type(thing))
            for name, member in members.items():
                object.__setattr__(fresh, name, member(leaves))
            return fresh

        return build_instance
    position = leaf(thing, path)
    if position is None:
        return lambda leaves: thing
    return lambda leaves: leaves[position]
