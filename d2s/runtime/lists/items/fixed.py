"""Lists and dicts that were read out of a list of the run, and what a change of one does.

The list holds leaves, not objects, so a change in place goes back to the place that was read::

    rows[i].append(x)     rows[i] is a FixedList of the leaves there; append makes a new list of
                          it, and writes that to rows[i]

That is right as long as nobody else knows the object: see :meth:`storage.ItemStore.write_back`.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from typing import Any

from d2s.errors import ContainerInGraphError
from d2s.runtime.trace import error_here
from d2s.runtime.values.choice import Choice
from d2s.runtime.values.tree import is_tuple

Write = Callable[[Any], None]
"""Puts another thing into the place that something was read from."""


def _changing(kind: type, name: str) -> Any:
    def method(self: Any, *args: Any, **options: Any) -> Any:
        write = getattr(self, "write", None)
        if write is None:
            raise error_here(
                ContainerInGraphError,
                f"a {kind.__name__} that is an item of a list whose length a tensor decides is "
                "changed in place",
                "make a new one, and assign it to the place in the list",
            )
        made = kind(self)
        result = getattr(made, name)(*args, **options)
        write(made)
        getattr(kind, "clear")(self)  # noqa: B009 - of the class itself
        getattr(kind, "extend" if kind is list else "update")(self, made)
        return self if result is made else result

    return method


class FixedList(list[Any]):
    """A list that was read out of a growing one."""

    __slots__ = ("__weakref__", "write")
    write: Write
    d2s_plain = list

    def __copy__(self) -> list[Any]:
        return list(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> list[Any]:
        return copy.deepcopy(list(self), memo)


class FixedDict(dict[Any, Any]):
    """A dict that was read out of a growing list."""

    __slots__ = ("__weakref__", "write")
    write: Write
    d2s_plain = dict

    def __copy__(self) -> dict[Any, Any]:
        return dict(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[Any, Any]:
        return copy.deepcopy(dict(self), memo)


for _name in (
    "append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse",
    "__setitem__", "__delitem__", "__iadd__", "__imul__",
):  # fmt: skip
    setattr(FixedList, _name, _changing(list, _name))
for _name in (
    "pop", "popitem", "clear", "update", "setdefault", "__setitem__", "__delitem__", "__ior__",
):  # fmt: skip
    setattr(FixedDict, _name, _changing(dict, _name))


def shallow(view: FixedList | FixedDict) -> Any:
    """A list or dict of Python with the same items."""
    return list(view) if isinstance(view, FixedList) else dict(view)


def attach(item: Any, write: Write) -> list[Any]:
    """Let a change of ``item``, or of a list or dict in it, go where ``write`` puts it.

    Returns:
        all that can be changed in it.
    """
    if isinstance(item, Choice):
        return [part for leaf in item.leaves() for part in attach(leaf, write)]
    if isinstance(item, FixedList):
        item.write = write
        return [item, *_attach_parts(item, list(enumerate(item)), write)]
    if isinstance(item, FixedDict):
        item.write = write
        return [item, *_attach_parts(item, list(item.items()), write)]
    if is_tuple(item):
        return _attach_parts(item, list(enumerate(item)), write)
    if hasattr(type(item), "d2s_freeze") and not item.frozen:
        item.writer = write
        return [item]
    return []


def _attach_parts(item: Any, parts: list[tuple[Any, Any]], write: Write) -> list[Any]:
    """The same for what a structure holds, of which a change is one of the structure.

    None of these functions holds its own part, so that parts nobody reads are gone at once.
    """
    found: list[Any] = []
    blank = getattr(type(item), "_make", None) or getattr(type(item), "d2s_plain", tuple)
    for place, part in parts:
        others = {key: None if key == place else other for key, other in parts}
        found += attach(part, functools.partial(_put, blank, others, place, write))
    return found


def owner_of_view(thing: Any) -> Any:
    """The list of the run that a list or dict was read out of; ``None`` for other things."""
    write = getattr(thing, "write", None) if isinstance(thing, FixedList | FixedDict) else None
    if write is None and hasattr(type(thing), "d2s_freeze"):
        write = getattr(thing, "writer", None)
    while isinstance(write, functools.partial):
        write = write.args[3]
    return getattr(write, "owner", None)


def place_of_view(thing: FixedList | FixedDict) -> Any:
    """The position at which a list or dict is in the list that it was read out of.

    ``None`` for what is inside of an item, and where that list has changed since.
    """
    position, moves = getattr(thing.write, "place", (None, 0))
    return None if position is None or owner_of_view(thing).moves != moves else position


def _put(make: Any, others: dict[Any, Any], place: Any, write: Write, new: Any) -> None:
    """Write a structure with ``new`` at one place."""
    held = {**others, place: new}
    write(held if make is dict else make(held.values()))
