"""Where a value is kept outside of the arguments, and how it is read there again."""

from __future__ import annotations

import collections
import itertools
import types
from typing import Any, Final

import paddle

from d2s.runtime.values import tree
from d2s.runtime.values.fields import SlotFields, class_fields, slot_fields, slots_of
from d2s.runtime.values.iterators.copies import NO_MORE, copy_of
from d2s.runtime.values.objects import attribute, dict_of
from d2s.runtime.values.unbound import UNBOUND

SCALARS: Final = (bool, int, float, str, bytes, type(None))

LARGE: Final = 1000
"""A list or dict with more items is taken as one object: its items are not looked at."""

NAMED: Final = 64
"""A list or dict that a function names is guarded item by item up to this length."""

CONTAINERS: Final = (dict, list, set, collections.deque)

ABSENT: Final = UNBOUND
"""Stands for an entry that is not there."""


class Found:
    """What stands at places now, each of them read once however many others it is on the way to.

    Attributes:
        values: what was read, by the identities of the places.
    """

    def __init__(self) -> None:
        self.values: dict[int, Any] = {}

    def at(self, place: Place) -> Any:
        """What stands at a place; ``ABSENT`` if nothing does."""
        key = id(place)
        if key not in self.values:
            self.values[key] = place.get(self)
        return self.values[key]


class Place:
    """Where a value is kept: an entry of a dict or list, an attribute, or a closure cell.

    Args:
        scope: globals, an object's attributes, a layer's buffers, a user's dict or list; or the
            cell.
        key: the name or index in it.
        path: how a reader would write it, for messages.
        parent: where the scope itself is kept, if another one may stand there later.
        owner: the layer whose attributes the scope holds.
        attribute: the scope holds the attributes of what stands at ``parent``.
    """

    __slots__ = ("attribute", "key", "owner", "parent", "path", "scope")

    def __init__(
        self,
        scope: Any,
        key: Any,
        path: str,
        parent: Place | None = None,
        owner: Any = None,
        *,
        attribute: bool = False,
    ) -> None:
        self.scope = scope
        self.key = key
        self.path = path
        self.parent = parent
        self.owner = owner
        self.attribute = attribute

    def holder(self, seen: Found | None = None) -> Any:
        """What holds the value now.

        Args:
            seen: what has been read of other places a moment ago.
        """
        if self.parent is None:
            return self.scope
        found = self.parent.get() if seen is None else seen.at(self.parent)
        if isinstance(self.scope, SlotFields):
            return slot_fields(found)
        if isinstance(found, (*CONTAINERS, tuple)) and not self.attribute:
            return found
        return dict_of(found)

    def get(self, seen: Found | None = None) -> Any:
        """What is there now; ``ABSENT`` if nothing is."""
        scope = self.holder(seen)
        if isinstance(scope, types.CellType):
            try:
                return scope.cell_contents
            except ValueError:
                return ABSENT
        return ABSENT if tree.kind_of(scope) is None else tree.get(scope, self.key, ABSENT)

    def set(self, value: Any) -> None:
        """Bind it; unbind it with ``ABSENT``."""
        self.set_in(self.holder(), value)

    def set_in(self, scope: Any, value: Any) -> None:
        """The same in what :meth:`holder` gave before."""
        if isinstance(scope, types.CellType):
            if value is not ABSENT:
                scope.cell_contents = value
            elif self.get() is not ABSENT:
                del scope.cell_contents
        elif value is ABSENT:
            if isinstance(scope, dict):
                tree.drop(scope, self.key)
        elif self.owner is not None:
            paddle.nn.Layer.__setattr__(self.owner, self.key, value)
        elif scope is not None:
            tree.put(scope, self.key, value)

    def put(self, value: Any) -> None:
        """Bind it as it is, whoever owns it; also where the code has taken the container away."""
        found = self.holder()
        scope = self.scope if found is None else found
        if isinstance(scope, types.CellType):
            scope.cell_contents = value
        else:
            tree.put(scope, self.key, value)

    @property
    def identity(self) -> tuple[Any, Any]:
        """Equal for two places that are one."""
        return (id(self.scope) if self.parent is None else self.parent.identity), self.key

    @property
    def way(self) -> tuple[Any, Any]:
        """Equal for two places that are found on one way, and so will be one later too."""
        return self.identity


class Member(Place):
    """An attribute of a class, as an instance finds it: the class's own, or a base's."""

    __slots__ = ()

    def holder(self, seen: Found | None = None) -> Any:
        """The class that has it now."""
        for kind in self.scope.__mro__:
            if self.key in kind.__dict__:
                return kind
        return None

    def get(self, seen: Found | None = None) -> Any:
        """What is there now, no method bound; ``ABSENT`` if nothing is."""
        kind = self.holder()
        return ABSENT if kind is None else kind.__dict__.get(self.key, ABSENT)

    @property
    def identity(self) -> tuple[Any, Any]:
        """That of the class's own attribute; of no other one where nobody watches the class."""
        return id(class_fields(self.holder() or self.scope)), self.key

    @property
    def way(self) -> tuple[Any, Any]:
        """A class between the two may get the attribute later."""
        return id(self.scope), self.key


class Slot(Place):
    """An attribute that is kept in no dict: in a slot, or of a function."""

    __slots__ = ()

    @property
    def identity(self) -> tuple[Any, Any]:
        """That of the object's own field, if it is one."""
        if self.key in slots_of(type(self.scope)):
            return id(slot_fields(self.scope)), self.key
        return id(self.scope), self.key

    def holder(self, seen: Found | None = None) -> Any:
        """The object."""
        return self.scope

    def get(self, seen: Found | None = None) -> Any:
        """What is there now; ``ABSENT`` if nothing is."""
        return attribute(self.scope, self.key, ABSENT)


class Reading(Place):
    """What calling something gives, such as a context variable."""

    __slots__ = ()

    def holder(self, seen: Found | None = None) -> Any:
        """What is called."""
        return self.scope

    def get(self, seen: Found | None = None) -> Any:
        """What it gives now."""
        return self.key(self.scope)

    @property
    def identity(self) -> tuple[Any, Any]:
        """Equal for two places that are one."""
        return id(self.scope), self.path


class Upcoming(Place):
    """An item that an iterator of Python's will give: ``key`` others come before it.

    Args:
        scope: its :class:`AheadFields`, while a program is captured.
        parent: where it is kept.
    """

    __slots__ = ()

    def fields(self) -> Any:
        """Those of the iterator that is kept there now; ``ABSENT`` if it is of another class."""
        iterator = self.parent.get() if self.parent is not None else ABSENT
        return slot_fields(iterator) if type(iterator) is type(self.scope.owner) else ABSENT

    def holder(self, seen: Found | None = None) -> Any:
        """What tells of the iterator."""
        return self.scope

    def get(self, seen: Found | None = None) -> Any:
        """The item; ``NO_MORE`` where there is none, ``ABSENT`` where nobody can tell."""
        fields = self.fields()
        ahead = None if fields is ABSENT else copy_of(fields.owner)
        if ahead is None:
            return ABSENT
        return next(itertools.islice(ahead, self.key, None), NO_MORE)

    def put(self, value: Any) -> None:
        """Let ``value`` stand in while a program is captured."""
        self.stand_in((), value)

    def stand_in(self, way: tuple[int, ...], value: Any) -> None:
        """The same for a part of the item."""
        fields = self.fields()
        if fields is not ABSENT:
            fields.stand_ins.setdefault(self.key, []).append((way, value))

    @property
    def identity(self) -> tuple[Any, Any]:
        """Equal for two places that are one."""
        assert self.parent is not None
        return self.parent.identity, ("next", self.key)


class UpcomingPart(Place):
    """An item of a tuple that such an iterator will give, or of a tuple in it."""

    __slots__ = ()

    def put(self, value: Any) -> None:
        """Let ``value`` stand in while a program is captured."""
        way: list[int] = []
        place: Place | None = self
        while isinstance(place, UpcomingPart):
            way.insert(0, place.key)
            place = place.parent
        assert isinstance(place, Upcoming)
        place.stand_in(tuple(way), value)


def keys_of(table: Any) -> tuple[Any, ...]:
    """What a :class:`Reading` of a table's keys gives, in their order."""
    return tuple(table)


EVERY: Final = "*"
"""Among the names of attributes: one that the code computes, so any may be meant."""

PLAIN: Final = "*."
"""The same, of any object that is no layer."""
