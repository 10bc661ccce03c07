"""Containers: the one place that knows what a list, dict, tuple, set, deque or dataclass is.

Each sort of container is one class of ``container_kinds``, and what the rest of the library asks of
a container is a question to that class: what does it hold, under which keys, and how is another of
its class made of other items.  A container that the library does not know is told by
:func:`register`.

>>> from collections import namedtuple
>>> Point = namedtuple("Point", "x y")
>>> children({"a": [1, 2.5], "b": Point(3, 4)})
[[1, 2.5], Point(x=3, y=4)]
>>> map_children(str, Point(3, 4))
Point(x='3', y='4')
>>> leaves, rebuild = flatten({"a": [1, 2.5], "b": Point(3, 4)})
>>> leaves, rebuild([10 * leaf for leaf in leaves])
([1, 2.5, 3, 4], {'a': [10, 25.0], 'b': Point(x=30, y=40)})

A class of the user's may change what ``update``, ``__setitem__`` or ``items`` do, or forbid them.
None of that may run where state is noted, put back and merged: the methods of Python's own classes
are called, and a container is made anew without ``__init__``::

    blank(defaultdict(list, a=1))    ->    defaultdict(list)
    refill(outputs, {"loss": y})           outputs["loss"] is y; no method of outputs has run

The method is that of JAX's ``tree_util`` (flatten, unflatten, a registry with keys); different is
that containers may be refilled in place, which their identity in the user's code asks for.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
from collections.abc import Callable, Hashable, Iterator
from typing import Any, Final, TypeGuard

from d2s.runtime.values.container_kinds import (
    ArrayKind,
    ContainerKind,
    DataClassKind,
    DequeKind,
    DictKind,
    FrozenSetKind,
    ListKind,
    Parts,
    Rebuild,
    Registered,
    SetKind,
    SizesKind,
    SliceKind,
    TupleKind,
    copy_attributes,
)
from d2s.runtime.values.fields import Fields

PYTHONS: Final = (list, tuple, dict, set, frozenset, collections.deque)
"""Python's own classes of containers."""

DEPTH: Final = 8
"""So deep is looked into containers of containers, one of which may hold itself."""


_LIST: Final = ListKind[list[Any]]()
_DICT: Final = DictKind()
_SLICE: Final[ContainerKind[Any]] = SliceKind()
_kinds: list[ContainerKind[Any]] = [
    ArrayKind(), SizesKind(), TupleKind(), _LIST, DequeKind(), _DICT, SetKind(), FrozenSetKind(),
    DataClassKind(),
]  # fmt: skip
"""In the order in which they are asked; registered ones stand first."""

# By identity: a metaclass may say that its classes are equal, or have no hash.
_found: dict[int, tuple[type, ContainerKind[Any] | None]] = {}


def register(kind: ContainerKind[Any]) -> None:
    """Let containers of one more sort be known, before all others."""
    _kinds.insert(0, kind)
    _found.clear()


@contextlib.contextmanager
def registered(kind: ContainerKind[Any]) -> Iterator[None]:
    """One more sort of container for the time of a ``with`` block."""
    register(kind)
    try:
        yield
    finally:
        _kinds.remove(kind)
        _found.clear()


def kind_of(container: object) -> ContainerKind[Any] | None:
    """What sort of container an object is; ``None`` for what holds nothing."""
    kind = type(container)
    known = _found.get(id(kind))
    if known is None or known[0] is not kind:
        found = next((each for each in _kinds if each.matches(kind)), None)
        known = _found[id(kind)] = (kind, found)
    return known[1]


def is_sequence(container: object) -> bool:
    """Whether an object is a list, tuple or deque, or of a class derived of one."""
    kind = kind_of(container)
    return kind is not None and kind.sequence


def is_mapping(container: object) -> bool:
    """Whether an object is a dict, or of a class derived of it."""
    kind = kind_of(container)
    return kind is not None and kind.mapping


def is_hashed(container: object) -> bool:
    """Whether an object is a dict or set, which finds its items by their hash."""
    kind = kind_of(container)
    return kind is not None and (kind.mapping or isinstance(kind, SetKind))


def is_mutable(container: object) -> bool:
    """Whether an object is a container that can be given other items."""
    kind = kind_of(container)
    return kind is not None and kind.mutable


def is_indexed(container: object) -> bool:
    """Whether an object is a container whose items can be bound by key or position."""
    kind = kind_of(container)
    return kind is not None and kind.mutable and (kind.mapping or kind.sequence)


def is_list_or_tuple(container: object) -> TypeGuard[list[Any] | tuple[Any, ...]]:
    """Whether an object is what Python and Paddle take for a nest of items: a list or tuple."""
    return isinstance(container, (list, tuple))


def is_tuple(container: object) -> TypeGuard[tuple[Any, ...]]:
    """Whether an object is a tuple, or of a class derived of it."""
    return isinstance(container, tuple)


def is_plain(container: object) -> bool:
    """Whether an object is a list or dict of Python's own class."""
    return type(container) in (list, dict)


def is_plain_sequence(container: object) -> bool:
    """Whether an object is a list or tuple of Python's own class."""
    return type(container) in (list, tuple)


def is_dataclass_instance(container: object) -> bool:
    """Whether an object is an instance (not the class) of a dataclass."""
    return dataclasses.is_dataclass(container) and not isinstance(container, type)


# -- one level -------------------------------------------------------------------------------------


def _sort_of(container: object) -> ContainerKind[Any]:
    """The kind of what is one, also of lists whose class a library has derived."""
    return kind_of(container) or _LIST  # all other sorts match derived classes of libraries, too


def children(container: object, *, slices: bool = False) -> list[Any]:
    """What an object holds, one level deep; nothing for what is no container.

    Args:
        container: any object.
        slices: slices are containers, too, as they are in a key.
    """
    kind = _SLICE if slices and type(container) is slice else kind_of(container)
    return [] if kind is None else kind.items(container)


def pairs(container: object) -> list[tuple[Any, Any]]:
    """Keys, or positions, and items of a container, in their order."""
    return _sort_of(container).pairs(container)


def members(container: object) -> list[Any]:
    """The items of a container."""
    return _sort_of(container).items(container)


def entries(container: object) -> list[Any]:
    """The items of a container; of a dict the pairs of keys and items."""
    return pairs(container) if is_mapping(container) else members(container)


def size(container: object) -> int:
    """How many items a container has."""
    return _sort_of(container).size(container)


def get(container: Any, key: Hashable, default: object) -> Any:
    """The item at a key or position."""
    if isinstance(container, Fields):
        return container.get(str(key), default)
    if isinstance(container, dict):
        return dict.get(container, key, default)
    if type(key) is not int or key >= size(container):
        return default
    kind = _sort_of(container)
    return kind.base.__getitem__(container, key) if isinstance(kind, ListKind) else default


def put(container: Any, key: Any, value: object) -> None:
    """Bind the item at a key or position of a mutable container."""
    kind = _sort_of(container)
    if isinstance(container, Fields):
        container[key] = value
    elif isinstance(kind, DictKind):
        kind.base(container).__setitem__(container, key, value)
    elif isinstance(kind, ListKind):
        kind.base.__setitem__(container, key, value)
    else:
        held = [value if place == key else item for place, item in pairs(container)]
        refill(container, held)


def drop(table: Any, key: Any) -> None:
    """Remove a key of a dict, if it is there."""
    if isinstance(table, Fields):
        table.pop(key, None)
    elif dict.__contains__(table, key):
        _DICT.base(table).__delitem__(table, key)


def refill(container: Any, contents: Any) -> Any:
    """A mutable container with other contents, the same object.

    Args:
        container: a list, set, deque or dict, or a registered container that can change.
        contents: a dict, or the items.
    """
    kind = _sort_of(container)
    if kind.mapping:
        table = dict(pairs(contents))
        return kind.fill(container, list(table), list(table.values()))
    held = children(contents) if kind_of(contents) is not None else list(contents)
    if isinstance(kind, Registered) and kind.refill is not None:
        kind.refill(container, kind.keys(container), held)
        return container
    return kind.fill(container, range(len(held)), held)


def blank(container: Any) -> Any:
    """An empty container of the same class, with the same attributes."""
    made = bare(container)
    copy_attributes(container, made)
    return made


def bare(container: Any) -> Any:
    """An empty container of the same class, with no attributes; a plain one for one of ours."""
    return _sort_of(container).bare(container)


def like(container: Any, contents: Any) -> Any:
    """A container of the same class, with the same attributes and other contents.

    Args:
        container: any container.
        contents: a dict for a dict, else the items.
    """
    kind = _sort_of(container)
    if kind.mapping:
        table = dict(pairs(contents))
        return kind.like(container, list(table), list(table.values()))
    return kind.like(container, kind.keys(container), contents)


def like_by_key(container: Any, items: dict[Any, Any]) -> Any:
    """A container of the same class and attributes, with the items of a table of keys."""
    return like(container, items if is_mapping(container) else items.values())


def with_keys(container: Any, keys: list[Any]) -> Any:
    """A dict or set of the same class and attributes, with ``keys`` in the place of its own."""
    held = dict(zip(keys, members(container), strict=True)) if is_mapping(container) else keys
    return like(container, held)


def map_children(use: Callable[[Any], object], container: Any, *, slices: bool = False) -> Any:
    """A container of the same class with ``use`` of each item; other things as they are.

    Args:
        use: a function of an item.
        container: any object.
        slices: slices are containers, too, as they are in a key.
    """
    kind = _SLICE if slices and type(container) is slice else kind_of(container)
    if kind is None:
        return container
    return kind.like(container, kind.keys(container), [use(item) for item in kind.items(container)])


def parts(container: object) -> Parts | None:
    """What a container holds, one level deep, and a function that makes its like of others.

    Returns:
        ``(path, part)`` pairs and the function; ``None`` for what is no container.
    """
    kind = kind_of(container)
    return None if kind is None else kind.parts(container)


# -- all levels ------------------------------------------------------------------------------------


def first_leaf(
    is_it: Callable[[object], bool], tree: object, depth: int = DEPTH, *, slices: bool = False
) -> Any:
    """The first part of a tree, or the tree itself, of which ``is_it`` holds; else ``None``."""
    return next(_leaves_that(is_it, tree, depth, slices), None)


def any_leaf(
    is_it: Callable[[object], bool], tree: object, depth: int = DEPTH, *, slices: bool = False
) -> bool:
    """Whether ``is_it`` holds of a tree or of a part of it, at most ``depth`` levels deep."""
    return any(True for _ in _leaves_that(is_it, tree, depth, slices))


def _leaves_that(
    is_it: Callable[[object], bool], tree: object, depth: int, slices: bool
) -> Iterator[Any]:
    if is_it(tree):
        yield tree
    elif depth:
        for item in children(tree, slices=slices):
            yield from _leaves_that(is_it, item, depth - 1, slices)


def replaced(tree: Any, old: object, new: object, depth: int = DEPTH) -> Any:
    """A tree with ``new`` in each place of the object ``old``; the same tree if it is not there."""
    if tree is old:
        return new
    if not any_leaf(lambda part: part is old, tree, depth, slices=True):
        return tree
    return map_children(lambda part: replaced(part, old, new, depth - 1), tree, slices=True)


def scan(
    tree: Any,
    leaf: Callable[[Any, str], int | None],
    path: str = "",
    around: Callable[[Any, str, Callable[[], Rebuild]], Rebuild] | None = None,
) -> Rebuild:
    """Walk a tree; a function that builds its like from new leaves.

    Args:
        tree: any object.
        leaf: called with each part that is no container and its path; gives the position of its
            replacement, or ``None`` to keep it.
        path: how ``tree`` is reached, for messages.
        around: called with each container, its path and a function that walks it; gives the
            builder to use.
    """
    found = parts(tree)
    if found is None:
        position = leaf(tree, path)
        if position is None:
            return lambda leaves: tree
        return lambda leaves: leaves[position]
    held, make = found

    def walk() -> Rebuild:
        items = [scan(item, leaf, f"{path}{step}", around) for step, item in held]
        return lambda leaves: make([item(leaves) for item in items])

    return walk() if around is None else around(tree, path, walk)


def flatten(tree: Any) -> tuple[list[Any], Rebuild]:
    """The leaves of a tree in their order, and a function that builds its like from others."""
    leaves: list[Any] = []

    def note(part: object, path: str) -> int:
        leaves.append(part)
        return len(leaves) - 1

    return leaves, scan(tree, note)
