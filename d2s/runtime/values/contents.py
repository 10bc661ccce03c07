"""What lists, dicts, sets and deques hold, past methods of their own classes.

A class of the user's may change what ``update``, ``__setitem__`` or ``items`` do, or forbid them.
Where state is noted, put back and merged, none of that may run: the methods of Python's own classes
are called, and a container is made anew without ``__init__``::

    blank(defaultdict(list, a=1))    ->    defaultdict(list)
    refill(outputs, {"loss": y})           outputs["loss"] is y; no method of outputs has run
"""

from __future__ import annotations

import collections
from collections.abc import Iterable
from typing import Any, Final

from d2s.runtime.values.fields import Fields, slot_fields, slots_of
from d2s.runtime.values.objects import dict_of, fields_of, is_user_class

_BASES: Final[tuple[Any, ...]] = (
    collections.OrderedDict, collections.defaultdict, dict, list, collections.deque, set, tuple,
)  # fmt: skip


def _base(container: Any) -> Any:
    """Python's own class whose object ``container`` is."""
    return next(base for base in _BASES if isinstance(container, base))


def items(table: Any) -> list[tuple[Any, Any]]:
    """The keys and values of a dict, in their order."""
    return list(table.items() if isinstance(table, Fields) else _base(table).items(table))


def members(container: Any) -> list[Any]:
    """What a list, set, deque or tuple holds."""
    return list(_base(container).__iter__(container))


def size(container: Any) -> int:
    """How many items there are."""
    if isinstance(container, Fields):
        return len(container)
    return int(_base(container).__len__(container))


def get(container: Any, key: Any, default: Any) -> Any:
    """The item at a key or index."""
    if isinstance(container, Fields):
        return container.get(key, default)
    if isinstance(container, dict):
        return dict.get(container, key, default)
    if type(key) is not int or key >= size(container):
        return default
    return _base(container).__getitem__(container, key)


def put(container: Any, key: Any, value: Any) -> None:
    """Bind the item at a key or index."""
    if isinstance(container, Fields):
        container[key] = value
    else:
        _base(container).__setitem__(container, key, value)


def drop(table: Any, key: Any) -> None:
    """Remove a key of a dict, if it is there."""
    if isinstance(table, Fields):
        table.pop(key, None)
    elif dict.__contains__(table, key):
        _base(table).__delitem__(table, key)


def refill(container: Any, contents: Any) -> Any:
    """``container`` with other contents, the same object.

    Args:
        container: a list, set, deque or dict.
        contents: a dict, or the items.
    """
    base = _base(container)
    if isinstance(container, Fields):
        container.clear()
        container.update(contents)
    elif isinstance(container, dict):
        pairs = items(contents)
        base.clear(container)
        for key, value in pairs:
            base.__setitem__(container, key, value)
    elif isinstance(container, list):
        list.__setitem__(container, slice(None), _listed(contents))
    else:
        found = _listed(contents)
        base.clear(container)
        (base.update if base is set else base.extend)(container, found)
    return container


def _listed(contents: Iterable[Any]) -> list[Any]:
    held = isinstance(contents, list | tuple | set | collections.deque)
    return members(contents) if held else list(contents)


def blank(container: Any) -> Any:
    """An empty container of the same class, with the same attributes."""
    made = bare(container)
    copy_attributes(container, made)
    return made


def bare(container: Any) -> Any:
    """An empty container of the same class, with no attributes; a plain one for one of ours."""
    plain = getattr(type(container), "d2s_plain", None)
    if plain is not None:
        return plain()
    base = _base(container)
    made = base.__new__(type(container))
    if base is collections.deque:
        collections.deque.__init__(made, (), container.maxlen)
    elif base is collections.defaultdict:
        made.default_factory = container.default_factory
    return made


def copy_attributes(thing: Any, made: Any) -> None:
    """Give ``made`` the attributes of ``thing``, an object of the same class."""
    if slots_of(type(thing)):
        slot_fields(made).update(slot_fields(thing))
    fields = dict_of(thing)
    if fields:
        fields_of(made).update(fields)


def like(container: Any, contents: Any) -> Any:
    """A container of the same class, with the same attributes and other contents."""
    if isinstance(container, tuple):
        return tuple_like(container, contents)
    return refill(blank(container), contents)


def tuple_like(sample: tuple[Any, ...], contents: Iterable[Any]) -> Any:
    """A tuple of the class of ``sample``, a named one say, with other items."""
    kind = type(sample)
    if not is_user_class(kind) and not hasattr(kind, "_make"):
        return tuple(contents)
    made = tuple.__new__(kind, contents)
    copy_attributes(sample, made)
    return made
