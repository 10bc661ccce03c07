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
import copy
import dataclasses
from collections.abc import Callable
from typing import Any

from d2s.operators.objects import is_list
from d2s.operators.values import SIZE, Sizes

Rebuild = Callable[[list[Any]], Any]


def is_dataclass_instance(thing: object) -> bool:
    """Whether ``thing`` is an instance (not the class) of a dataclass."""
    return dataclasses.is_dataclass(thing) and not isinstance(thing, type)


def parts(thing: Any) -> tuple[list[tuple[str, Any]], Rebuild] | None:
    """What a container holds, one level deep, and a function that makes its like of others.

    Returns:
        ``(path, part)`` pairs and the function; ``None`` for what is no container.
    """
    if isinstance(thing, tuple):
        make = type(thing)._make if hasattr(thing, "_make") else tuple
        return [(f"[{index}]", item) for index, item in enumerate(thing)], make
    if type(thing) is list:
        return [(f"[{index}]", item) for index, item in enumerate(thing)], list
    if is_list(thing):

        def make_list(items: list[Any]) -> Any:
            made = copy.copy(thing)
            made[:] = items
            return made

        return [(f"[{index}]", item) for index, item in enumerate(thing)], make_list
    if type(thing) is Sizes:
        return [(f"[{index}]", item) for index, item in enumerate(thing)], SIZE
    if isinstance(thing, dict):
        keys, blank = list(thing), None
        if type(thing) is not dict:
            blank = thing.copy()
            blank.clear()

        def make_dict(items: list[Any]) -> Any:
            made = {} if blank is None else blank.copy()
            made.update(dict(zip(keys, items, strict=True)))  # a Counter counts pairs
            return made

        return [(f"[{key!r}]", value) for key, value in thing.items()], make_dict
    if type(thing) is set:
        ordered = sorted(thing, key=repr)
        return [(f"{{{index}}}", item) for index, item in enumerate(ordered)], set
    if type(thing) is collections.deque:
        length = thing.maxlen
        return (
            [(f"[{index}]", item) for index, item in enumerate(thing)],
            lambda items: collections.deque(items, length),
        )
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
