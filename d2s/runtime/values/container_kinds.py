"""The sorts of containers: what each holds, and how another of its class is made.

``values.tree`` asks them; nobody else needs to know which class stands behind an object.
"""

from __future__ import annotations

import collections
import dataclasses
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, ClassVar, Final, Generic, TypeVar

from d2s.runtime.values.fields import Fields, slot_fields, slots_of
from d2s.runtime.values.objects import dict_of, fields_of, is_user_class
from d2s.runtime.values.tensors import Sizes, sizes

C = TypeVar("C")

Rebuild = Callable[[list[Any]], Any]
"""Makes a container like the one that was taken apart, of other items in the same order."""

Parts = tuple[list[tuple[str, Any]], Rebuild]
"""Pairs of a step of a path (``"[0]"``, ``".x"``) and an item; what makes the like of others."""


class ContainerKind(Generic[C]):
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

    def keys(self, container: C) -> list[Hashable]:
        """What its items are found by; positions if it has no keys."""
        return list(range(len(self.items(container))))

    def items(self, container: C) -> list[Any]:
        """What it holds, one level deep, in its order."""
        raise NotImplementedError

    def pairs(self, container: C) -> list[tuple[Any, Any]]:
        """The items with what they are found by."""
        return list(zip(self.keys(container), self.items(container), strict=True))

    def step(self, key: Hashable) -> str:
        """The key as the reader writes it: ``[0]``, ``['a']``, ``.x``."""
        return f"[{key!r}]"

    def size(self, container: C) -> int:
        """How many items there are."""
        return len(self.items(container))

    def bare(self, container: C) -> Any:
        """An empty one of the same class (and factory, and limit), without its attributes."""
        raise NotImplementedError

    def fill(self, empty: C, keys: Sequence[Hashable], items: Iterable[Any]) -> Any:
        """Give an empty one these items, the same object, if it is mutable; else a new one."""
        raise NotImplementedError

    def like(self, container: C, keys: Sequence[Hashable], items: Iterable[Any]) -> Any:
        """One of the same class, with the same attributes and other items."""
        made = self.fill(self.bare(container), keys, items)
        copy_attributes(container, made)
        return made

    def parts(self, container: C) -> Parts:
        """What it holds with steps of paths, and what makes its like of other items."""
        keys, empty = self.keys(container), self.bare(container)
        held = list(zip(map(self.step, keys), self.items(container), strict=True))
        return with_attributes(container, held, lambda items: self.like(empty, keys, items))


class ListKind(ContainerKind[C]):
    """A list, and classes of the user's that are one."""

    sequence = mutable = True
    base: ClassVar[Any] = list

    def matches(self, kind: type) -> bool:
        own = issubclass(kind, list) and (is_user_class(kind) or hasattr(kind, "d2s_plain"))
        return kind is list or own

    def items(self, container: C) -> list[Any]:
        return list(self.base.__iter__(container))

    def size(self, container: C) -> int:
        return int(self.base.__len__(container))

    def bare(self, container: C) -> Any:
        plain = getattr(type(container), "d2s_plain", None)
        return self.base.__new__(type(container)) if plain is None else plain()

    def fill(self, empty: C, keys: Sequence[Hashable], items: Iterable[Any]) -> Any:
        self.base.__setitem__(empty, slice(None), list(items))
        return empty


class SizesKind(ListKind[Sizes]):
    """The ``shape`` of a tensor with open dimensions; Paddle's own list again without these."""

    def matches(self, kind: type) -> bool:
        return kind is Sizes

    def parts(self, container: Sizes) -> Parts:
        return [(f"[{index}]", size) for index, size in enumerate(container)], sizes


class DequeKind(ListKind[collections.deque[Any]]):
    """A deque; another one has the same ``maxlen``."""

    base = collections.deque

    def matches(self, kind: type) -> bool:
        return issubclass(kind, collections.deque)

    def bare(self, container: collections.deque[Any]) -> Any:
        made = super().bare(container)
        collections.deque.__init__(made, (), container.maxlen)
        return made

    def fill(
        self, empty: collections.deque[Any], keys: Sequence[Hashable], items: Iterable[Any]
    ) -> Any:
        found = list(items)
        if len(found) == collections.deque.__len__(empty):  # iterators of it go on
            for position, item in enumerate(found):
                collections.deque.__setitem__(empty, position, item)
            return empty
        collections.deque.clear(empty)
        collections.deque.extend(empty, found)
        return empty


class TupleKind(ListKind[tuple[Any, ...]]):
    """A tuple; a named one, or one of the user's class, keeps its class."""

    mutable = False
    base = tuple

    def matches(self, kind: type) -> bool:
        return issubclass(kind, tuple)

    def fill(self, empty: tuple[Any, ...], keys: Sequence[Hashable], items: Iterable[Any]) -> Any:
        return self.made(type(empty), items)

    def made(self, kind: type[tuple[Any, ...]], items: Iterable[Any]) -> tuple[Any, ...]:
        """A tuple of a class; a plain one for a class that only its library can make."""
        own = is_user_class(kind) or hasattr(kind, "_make")
        return tuple.__new__(kind, items) if own else tuple(items)

    def like(
        self, container: tuple[Any, ...], keys: Sequence[Hashable], items: Iterable[Any]
    ) -> Any:
        made = self.made(type(container), items)
        if type(made) is not tuple:
            copy_attributes(container, made)
        return made

    def parts(self, container: tuple[Any, ...]) -> Parts:
        kind = type(container)
        held = [(f"[{index}]", item) for index, item in enumerate(self.items(container))]
        return with_attributes(container, held, lambda items: self.made(kind, items))


class SetKind(ContainerKind[C]):
    """A set.  Its order is that of the text of its items where a position must last."""

    mutable = True
    base: ClassVar[Any] = set

    def matches(self, kind: type) -> bool:
        return issubclass(kind, self.base)

    def items(self, container: C) -> list[Any]:
        return list(self.base.__iter__(container))

    def step(self, key: Hashable) -> str:
        return f"{{{key}}}"

    def bare(self, container: C) -> Any:
        return self.base.__new__(type(container))

    def fill(self, empty: C, keys: Sequence[Hashable], items: Iterable[Any]) -> Any:
        found = list(items)
        self.base.clear(empty)
        self.base.update(empty, found)
        return empty

    def parts(self, container: C) -> Parts:
        ordered = sorted(self.items(container), key=repr)
        kind = type(container)
        held = [(self.step(index), item) for index, item in enumerate(ordered)]
        return with_attributes(
            container, held, lambda items: self.fill(self.base.__new__(kind), (), items)
        )


class FrozenSetKind(SetKind[frozenset[Any]]):
    """A set that cannot change."""

    mutable = False
    base = frozenset

    def fill(self, empty: frozenset[Any], keys: Sequence[Hashable], items: Iterable[Any]) -> Any:
        return frozenset.__new__(type(empty), items)


_DICTS: Final = (collections.OrderedDict, collections.defaultdict, dict)


class DictKind(ContainerKind[dict[Any, Any]]):
    """A dict, an ordered one, one with a factory: another has the same factory."""

    mapping = mutable = True

    def matches(self, kind: type) -> bool:
        return issubclass(kind, dict)

    def base(self, container: dict[Any, Any]) -> Any:
        """Python's own class whose methods are called."""
        return next(base for base in _DICTS if isinstance(container, base))

    def keys(self, container: dict[Any, Any]) -> list[Hashable]:
        return [key for key, _ in self.pairs(container)]

    def items(self, container: dict[Any, Any]) -> list[Any]:
        return [item for _, item in self.pairs(container)]

    def pairs(self, container: dict[Any, Any]) -> list[tuple[Any, Any]]:
        own = type(container) is dict or isinstance(container, Fields)
        return list(container.items() if own else self.base(container).items(container))

    def size(self, container: dict[Any, Any]) -> int:
        own = isinstance(container, Fields)
        return len(container) if own else int(self.base(container).__len__(container))

    def bare(self, container: dict[Any, Any]) -> Any:
        plain = getattr(type(container), "d2s_plain", None)
        if plain is not None:
            return plain()
        base = self.base(container)
        made = base.__new__(type(container))
        if isinstance(container, collections.defaultdict):
            made.default_factory = container.default_factory
        return made

    def fill(self, empty: dict[Any, Any], keys: Sequence[Hashable], items: Iterable[Any]) -> Any:
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


class DataClassKind(ContainerKind[Any]):
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


class SliceKind(ContainerKind[slice]):
    """A slice, in a key: its bounds."""

    def matches(self, kind: type) -> bool:
        return kind is slice

    def keys(self, container: slice) -> list[Hashable]:
        return ["start", "stop", "step"]

    def items(self, container: slice) -> list[Any]:
        return [container.start, container.stop, container.step]

    def step(self, key: Hashable) -> str:
        return f".{key}"

    def like(self, container: slice, keys: Sequence[Hashable], items: Iterable[Any]) -> Any:
        return slice(*items)


class ArrayKind(ContainerKind[Any]):
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


class Registered(ContainerKind[Any]):
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


def copy_attributes(container: object, made: object) -> None:
    """Give ``made`` the attributes of ``container``, an object of the same class."""
    if slots_of(type(container)):
        slot_fields(made).update(slot_fields(container))
    fields = dict_of(container)
    if fields:
        fields_of(made).update(fields)


def with_attributes(container: object, held: list[tuple[str, Any]], make: Rebuild) -> Parts:
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
