"""Containers: the one place that knows what a list, dict, tuple, set, deque or dataclass is.

Each sort of container is one class here, and what the rest of the library asks of a container is a
question to that class: what does it hold, under which keys, and how is another of its class made
of other items.  A container that the library does not know is told by :func:`register`.

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
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any, ClassVar, Final

from d2s.runtime.values.fields import Fields, slot_fields, slots_of
from d2s.runtime.values.objects import dict_of, fields_of, is_user_class
from d2s.runtime.values.tensors import SIZE, Sizes

Rebuild = Callable[[list[Any]], Any]
"""Makes a container like the one that was taken apart, of other items in the same order."""

Parts = tuple[list[tuple[str, Any]], Rebuild]
"""Pairs of a step of a path (``"[0]"``, ``".x"``) and an item; what makes the like of others."""

PYTHONS: Final = (list, tuple, dict, set, frozenset, collections.deque)
"""Python's own classes of containers."""

DEPTH: Final = 8
"""So deep is looked into containers of containers, one of which may hold itself."""


class ContainerKind:
    """One sort of container.

    Attributes:
        sequence: items have positions.
        mapping: items have keys of the user's.
        mutable: it can be given other items, and remains the same object.
    """

    sequence: ClassVar[bool] = False
    mapping: ClassVar[bool] = False
    mutable: ClassVar[bool] = False

    def matches(self, kind: type) -> bool:
        """Whether objects of the class ``kind`` are such containers."""
        raise NotImplementedError

    def keys(self, container: Any) -> list[Hashable]:
        """What its items are found by; positions if it has no keys."""
        return list(range(len(self.items(container))))

    def items(self, container: Any) -> list[Any]:
        """What it holds, one level deep, in its order."""
        raise NotImplementedError

    def step(self, key: Hashable) -> str:
        """The key as the reader writes it: ``[0]``, ``['a']``, ``.x``."""
        return f"[{key!r}]"

    def size(self, container: Any) -> int:
        """How many items there are."""
        return len(self.items(container))

    def bare(self, container: Any) -> Any:
        """An empty one of the same class (and factory, and limit), without its attributes."""
        raise NotImplementedError

    def fill(self, empty: Any, keys: Sequence[Hashable], items: Iterable[Any]) -> Any:
        """Give an empty one these items, the same object, if it is mutable; else a new one."""
        raise NotImplementedError

    def like(self, container: Any, keys: Sequence[Hashable], items: Iterable[Any]) -> Any:
        """One of the same class, with the same attributes and other items."""
        made = self.fill(self.bare(container), keys, items)
        copy_attributes(container, made)
        return made

    def parts(self, container: Any) -> Parts:
        """What it holds with steps of paths, and what makes its like of other items."""
        keys, empty = self.keys(container), self.bare(container)
        held = list(zip(map(self.step, keys), self.items(container), strict=True))
        return _with_attributes(container, held, lambda items: self.like(empty, keys, items))


class _Listed(ContainerKind):
    """A list, and classes of the user's that are one."""

    sequence = mutable = True
    base: ClassVar[Any] = list

    def matches(self, kind: type) -> bool:
        return kind is list or (issubclass(kind, list) and is_user_class(kind))

    def items(self, container: Any) -> list[Any]:
        return list(self.base.__iter__(container))

    def size(self, container: Any) -> int:
        return int(self.base.__len__(container))

    def bare(self, container: Any) -> Any:
        plain = getattr(type(container), "d2s_plain", None)
        return self.base.__new__(type(container)) if plain is None else plain()

    def fill(self, empty: Any, keys: Sequence[Hashable], items: Iterable[Any]) -> Any:
        list.__setitem__(empty, slice(None), list(items))
        return empty


class _Sizes(_Listed):
    """The ``shape`` of a tensor with open dimensions; Paddle's own list again without these."""

    def matches(self, kind: type) -> bool:
        return kind is Sizes

    def parts(self, container: Any) -> Parts:
        return [(f"[{index}]", size) for index, size in enumerate(container)], SIZE


class _Deque(_Listed):
    """A deque; another one has the same ``maxlen``."""

    base = collections.deque

    def matches(self, kind: type) -> bool:
        return issubclass(kind, collections.deque)

    def bare(self, container: Any) -> Any:
        made = super().bare(container)
        collections.deque.__init__(made, (), container.maxlen)
        return made

    def fill(self, empty: Any, keys: Sequence[Hashable], items: Iterable[Any]) -> Any:
        found = list(items)
        collections.deque.clear(empty)
        collections.deque.extend(empty, found)
        return empty


class _Tuple(_Listed):
    """A tuple; a named one, or one of the user's class, keeps its class."""

    mutable = False
    base = tuple

    def matches(self, kind: type) -> bool:
        return issubclass(kind, tuple)

    def fill(self, empty: Any, keys: Sequence[Hashable], items: Iterable[Any]) -> Any:
        return self.made(type(empty), items)

    def made(self, kind: type[tuple[Any, ...]], items: Iterable[Any]) -> tuple[Any, ...]:
        """A tuple of a class; a plain one for a class that only its library can make."""
        own = is_user_class(kind) or hasattr(kind, "_make")
        return tuple.__new__(kind, items) if own else tuple(items)

    def like(self, container: Any, keys: Sequence[Hashable], items: Iterable[Any]) -> Any:
        made = self.made(type(container), items)
        if type(made) is not tuple:
            copy_attributes(container, made)
        return made

    def parts(self, container: Any) -> Parts:
        kind = type(container)
        held = [(f"[{index}]", item) for index, item in enumerate(self.items(container))]
        return _with_attributes(container, held, lambda items: self.made(kind, items))


class _Set(ContainerKind):
    """A set.  Its order is that of the text of its items where a position must last."""

    mutable = True
    base: ClassVar[Any] = set

    def matches(self, kind: type) -> bool:
        return issubclass(kind, self.base)

    def items(self, container: Any) -> list[Any]:
        return list(self.base.__iter__(container))

    def step(self, key: Hashable) -> str:
        return f"{{{key}}}"

    def bare(self, container: Any) -> Any:
        return self.base.__new__(type(container))

    def fill(self, empty: Any, keys: Sequence[Hashable], items: Iterable[Any]) -> Any:
        found = list(items)
        set.clear(empty)
        set.update(empty, found)
        return empty

    def parts(self, container: Any) -> Parts:
        ordered = sorted(self.items(container), key=repr)
        kind = type(container)
        held = [(self.step(index), item) for index, item in enumerate(ordered)]
        return _with_attributes(
            container, held, lambda items: self.fill(self.base.__new__(kind), (), items)
        )


class _FrozenSet(_Set):
    """A set that cannot change."""

    mutable = False
    base = frozenset

    def fill(self, empty: Any, keys: Sequence[Hashable], items: Iterable[Any]) -> Any:
        return frozenset.__new__(type(empty), items)


class _Dict(ContainerKind):
    """A dict, an ordered one, one with a factory: another has the same factory."""

    mapping = mutable = True

    def matches(self, kind: type) -> bool:
        return issubclass(kind, dict)

    def base(self, container: Any) -> Any:
        """Python's own class whose methods are called."""
        if isinstance(container, collections.OrderedDict):
            return collections.OrderedDict
        return collections.defaultdict if isinstance(container, collections.defaultdict) else dict

    def keys(self, container: Any) -> list[Hashable]:
        return [key for key, _ in self.pairs(container)]

    def items(self, container: Any) -> list[Any]:
        return [item for _, item in self.pairs(container)]

    def pairs(self, container: Any) -> list[tuple[Any, Any]]:
        """Keys and items."""
        own = isinstance(container, Fields)
        return list(container.items() if own else self.base(container).items(container))

    def size(self, container: Any) -> int:
        own = isinstance(container, Fields)
        return len(container) if own else int(self.base(container).__len__(container))

    def bare(self, container: Any) -> Any:
        plain = getattr(type(container), "d2s_plain", None)
        if plain is not None:
            return plain()
        base = self.base(container)
        made = base.__new__(type(container))
        if base is collections.defaultdict:
            made.default_factory = container.default_factory
        return made

    def fill(self, empty: Any, keys: Sequence[Hashable], items: Iterable[Any]) -> Any:
        pairs = list(zip(keys, items, strict=True))
        if isinstance(empty, Fields):
            empty.clear()
            empty.update(dict(pairs))
            return empty
        base = self.base(empty)
        base.clear(empty)
        for key, item in pairs:
            base.__setitem__(empty, key, item)
        return empty


class _DataClass(ContainerKind):
    """An instance of a dataclass: its fields are its items, and its ``__init__`` is not run."""

    def matches(self, kind: type) -> bool:
        return dataclasses.is_dataclass(kind)

    def keys(self, container: Any) -> list[Hashable]:
        return [
            field.name for field in dataclasses.fields(container) if hasattr(container, field.name)
        ]

    def items(self, container: Any) -> list[Any]:
        return [getattr(container, str(name)) for name in self.keys(container)]

    def step(self, key: Hashable) -> str:
        return f".{key}"

    def bare(self, container: Any) -> Any:
        return object.__new__(type(container))

    def fill(self, empty: Any, keys: Sequence[Hashable], items: Iterable[Any]) -> Any:
        for name, item in zip(keys, items, strict=True):
            object.__setattr__(empty, str(name), item)
        return empty

    def like(self, container: Any, keys: Sequence[Hashable], items: Iterable[Any]) -> Any:
        return self.fill(self.bare(container), keys, items)

    def parts(self, container: Any) -> Parts:
        keys, kind = self.keys(container), type(container)  # the container itself is not kept
        held = list(zip(map(self.step, keys), self.items(container), strict=True))
        return held, lambda items: self.fill(object.__new__(kind), keys, items)


class _Slice(ContainerKind):
    """A slice, in a key: its bounds."""

    def matches(self, kind: type) -> bool:
        return kind is slice

    def keys(self, container: Any) -> list[Hashable]:
        return ["start", "stop", "step"]

    def items(self, container: Any) -> list[Any]:
        return [container.start, container.stop, container.step]

    def step(self, key: Hashable) -> str:
        return f".{key}"

    def like(self, container: Any, keys: Sequence[Hashable], items: Iterable[Any]) -> Any:
        return slice(*items)


class _Arrays(ContainerKind):
    """Arrays and numbers of NumPy that the run decides: the tensor in them is the one item."""

    def matches(self, kind: type) -> bool:
        return "d2s_is_state" in vars(kind)

    def items(self, container: Any) -> list[Any]:
        return [item for _, item in container.d2s_parts()[0]]

    def like(self, container: Any, keys: Sequence[Hashable], items: Iterable[Any]) -> Any:
        return container.d2s_parts()[1](list(items))

    def parts(self, container: Any) -> Parts:
        held: Parts = container.d2s_parts()
        return held


class Registered(ContainerKind):
    """A class that :func:`register` has made known.

    Args:
        kind: the class; classes derived of it are none.
        flatten: gives keys and items.
        rebuild: makes one of keys and items.
        refill: gives one other items in place; ``None`` if it cannot change.
    """

    def __init__(
        self,
        kind: type,
        flatten: Callable[[Any], tuple[Sequence[Hashable], Sequence[Any]]],
        rebuild: Callable[[Sequence[Hashable], list[Any]], Any],
        refill: Callable[[Any, Sequence[Hashable], list[Any]], None] | None = None,
    ) -> None:
        self.kind, self.flatten, self.rebuild, self.refill = kind, flatten, rebuild, refill

    def matches(self, kind: type) -> bool:
        return kind is self.kind

    def keys(self, container: Any) -> list[Hashable]:
        return list(self.flatten(container)[0])

    def items(self, container: Any) -> list[Any]:
        return list(self.flatten(container)[1])

    def like(self, container: Any, keys: Sequence[Hashable], items: Iterable[Any]) -> Any:
        return self.rebuild(keys, list(items))

    def parts(self, container: Any) -> Parts:
        keys = self.keys(container)
        held = list(zip(map(self.step, keys), self.items(container), strict=True))
        return held, lambda items: self.rebuild(keys, items)


_LIST: Final = _Listed()
_DICT: Final = _Dict()
_SLICE: Final = _Slice()
_kinds: list[ContainerKind] = [
    _Arrays(), _Sizes(), _Tuple(), _LIST, _Deque(), _DICT, _Set(), _FrozenSet(), _DataClass(),
]  # fmt: skip
"""In the order in which they are asked; registered ones stand first."""

# By identity: a metaclass may say that its classes are equal, or have no hash.
_found: dict[int, tuple[type, ContainerKind | None]] = {}


def register(kind: ContainerKind) -> None:
    """Let containers of one more sort be known, before all others."""
    _kinds.insert(0, kind)
    _found.clear()


@contextlib.contextmanager
def registered(kind: ContainerKind) -> Iterator[None]:
    """One more sort of container for the time of a ``with`` block."""
    register(kind)
    try:
        yield
    finally:
        _kinds.remove(kind)
        _found.clear()


def kind_of(container: object) -> ContainerKind | None:
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
    return kind is not None and (kind.mapping or isinstance(kind, _Set))


def is_mutable(container: object) -> bool:
    """Whether an object is a container that can be given other items."""
    kind = kind_of(container)
    return kind is not None and kind.mutable


def is_plain_sequence(container: object) -> bool:
    """Whether an object is a list or tuple of Python's own class."""
    return type(container) in (list, tuple)


def is_dataclass_instance(container: object) -> bool:
    """Whether an object is an instance (not the class) of a dataclass."""
    return dataclasses.is_dataclass(container) and not isinstance(container, type)


# -- one level -------------------------------------------------------------------------------------


def _sort_of(container: object) -> ContainerKind:
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
    kind = _sort_of(container)
    return list(zip(kind.keys(container), kind.items(container), strict=True))


def members(container: object) -> list[Any]:
    """The items of a container."""
    return _sort_of(container).items(container)


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
    return kind.base.__getitem__(container, key) if isinstance(kind, _Listed) else default


def put(container: Any, key: Any, value: object) -> None:
    """Bind the item at a key or position of a mutable container."""
    kind = _sort_of(container)
    if isinstance(container, Fields):
        container[key] = value
    elif isinstance(kind, _Dict):
        kind.base(container).__setitem__(container, key, value)
    elif isinstance(kind, _Listed):
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


def copy_attributes(container: object, made: object) -> None:
    """Give ``made`` the attributes of ``container``, an object of the same class."""
    if slots_of(type(container)):
        slot_fields(made).update(slot_fields(container))
    fields = dict_of(container)
    if fields:
        fields_of(made).update(fields)


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


def _with_attributes(container: object, held: list[tuple[str, Any]], make: Rebuild) -> Parts:
    """A container of the user's class: its attributes are parts like the items."""
    fields = (dict_of(container) if is_user_class(type(container)) else None) or {}
    if not fields:
        return held, make
    count = len(held)

    def build(parts: list[Any]) -> Any:
        made = make(parts[:count])
        fields_of(made).update(zip(fields, parts[count:], strict=True))
        return made

    return [*held, *((f".{name}", value) for name, value in fields.items())], build


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
