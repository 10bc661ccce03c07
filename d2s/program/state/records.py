"""What is remembered of state outside of the arguments, and how it has changed.

::

    table["x"] = y     ->    a change of one entry
    names.append(n)    ->    a change of a list as a whole
"""

from __future__ import annotations

import types
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from d2s import paddle_bridge as bridge
from d2s.program.state.places import (
    ABSENT,
    CONTAINERS,
    Place,
    Slot,
)
from d2s.runtime.host.text import HostText
from d2s.runtime.lists.dynamic_list import DynamicList
from d2s.runtime.values import tree
from d2s.runtime.values.choice import Choice
from d2s.runtime.values.objects import (
    is_user_class,
)


@dataclass
class Record:
    """Something that holds values, and what it held before the capture.

    Attributes:
        scope: a dict, list, set, deque or cell.
        path: how a reader would write it.
        place: where it is kept itself, if another one may stand there later.
        owner: the layer whose attributes it holds, if they are set through it.
        object: the object whose attributes it holds.
        names: the only entries that count; ``None`` if all do.
        fields: it holds the attributes of an object.
        before: its contents.
        large: there are so many items that none is looked at.
    """

    scope: Any
    path: str
    place: Place | None = None
    owner: Any = None
    object: Any = None
    names: set[Any] | None = None
    fields: bool = False
    before: Any = None
    large: bool = False

    def entry(self, key: Any) -> Place:
        """The place of one of its entries."""
        if self.fields:
            path = f"{self.path}.{key}"
        elif isinstance(self.scope, types.CellType):
            path = self.path
        elif self.names is not None:
            path = f"{self.path}.{key}" if self.path else str(key)
        else:
            path = f"{self.path}[{key!r}]"
        return Place(self.scope, key, path, self.place, self.owner, attribute=self.fields)

    @property
    def library(self) -> bool:
        """Whether these are the fields of a layer whose class is a library's.

        Python values that the library keeps there are its own business.
        """
        return self.owner is not None and not is_user_class(type(self.owner))

    @property
    def loose(self) -> bool:
        """Whether it is a container that a callable holds, under no name and in no attribute."""
        place = self.place
        while place is not None and isinstance(place.scope, tuple):
            place = place.parent
        return not self.fields and self.names is None and isinstance(place, Slot)

    def holder(self) -> Any:
        """What stands now where the scope was."""
        return self.scope if self.place is None else self.place.get()

    def pairs(self) -> list[tuple[Any, Any]]:
        """Its entries as they are now, with their keys or positions."""
        return list(entries(self.now()))

    def now(self) -> Any:
        """A copy of its contents."""
        if isinstance(self.scope, types.CellType):
            return {"cell": Place(self.scope, "cell", self.path).get()}
        if self.names is not None:
            names = self.names  # new ones are written back in the order of the capture
            there = [name for name in list(self.scope) if name in names] if len(names) > 1 else ()
            return {name: self.scope.get(name, ABSENT) for name in (*there, *names)}
        held = isinstance(self.scope, dict)
        return dict(tree.pairs(self.scope)) if held else tree.members(self.scope)

    def restore(self) -> None:
        """Give it its contents back."""
        if isinstance(self.scope, types.CellType):
            Place(self.scope, "cell", self.path).set(self.before["cell"])
        elif self.library:
            for key in [key for key, value in self.scope.items() if is_symbol(value)]:
                if key in self.before:
                    self.scope[key] = self.before[key]
                else:
                    del self.scope[key]
        elif isinstance(self.scope, dict):
            keys = [key for key, _ in tree.pairs(self.scope)]
            if self.names is None and keys != list(self.before):
                tree.refill(self.scope, self.before)
                return
            for key, value in self.before.items():
                if value is ABSENT:
                    tree.drop(self.scope, key)
                elif tree.get(self.scope, key, ABSENT) is not value:
                    tree.put(self.scope, key, value)
        else:
            tree.refill(self.scope, self.before)


def is_symbol(thing: Any) -> bool:
    """Whether ``thing`` is something of a program, not of a run."""
    return bridge.is_value(thing) or isinstance(thing, Choice | HostText | DynamicList)


@dataclass
class Change:
    """What a capture has changed: an entry, or the contents of a whole list, set or deque.

    Attributes:
        record: what holds it.
        key: the entry; ``None`` for the whole.
        value: the new value; ``ABSENT`` if it was removed.
        before: the old one.
    """

    record: Record
    key: Any
    value: Any
    before: Any = None

    @property
    def place(self) -> Place:
        """The entry."""
        return self.record.entry(self.key)

    @property
    def whole(self) -> bool:
        """Whether the contents of a list, set or deque are meant."""
        return not isinstance(self.record.scope, dict | types.CellType)

    def target(self) -> Any:
        """What is changed, as it stands before a run changes anything."""
        return self.record.holder() if self.whole else self.place.holder()

    def make(self, value: Any, target: Any) -> None:
        """Do it on a run, with the value of that run.

        Args:
            value: the new value, or the :attr:`contents`.
            target: what :meth:`target` gave.
        """
        if not self.whole:
            self.place.set_in(target, value)
        elif isinstance(target, list) and self.added:
            list.extend(target, value)
        elif isinstance(target, CONTAINERS):
            tree.refill(target, value)

    @property
    def added(self) -> bool:
        """Whether a list has only got more items."""
        known = len(self.before) if isinstance(self.record.scope, list) else -1
        return 0 <= known <= len(self.value) and all(
            one is other for one, other in zip(self.value, self.before, strict=False)
        )

    @property
    def contents(self) -> list[Any]:
        """The items that :meth:`make` takes."""
        return list(self.value[len(self.before) :] if self.added else self.value)


@dataclass
class Given(Change):
    """A number or tensor that an iterator has given: no change, but another one on each call.

    Attributes:
        at: where it is, while the iterator has not given it.
    """

    at: Place | None = None

    @property
    def place(self) -> Place:
        assert self.at is not None
        return self.at


@dataclass
class Reordered(Change):
    """The keys of a dict stand in another order than their changes, one by one, give them.

    Attributes:
        value: the keys that are taken out and put in again, in their order.
    """

    @property
    def whole(self) -> bool:
        return True

    def make(self, value: Any, target: Any) -> None:
        for key in value:
            found = tree.get(target, key, ABSENT)
            if found is not ABSENT:
                tree.drop(target, key)
                tree.put(target, key, found)

    @property
    def added(self) -> bool:
        return False


def entries(held: Any) -> Iterator[tuple[Any, Any]]:
    """Keys (or indexes) and values of what :meth:`Record.now` gives."""
    return iter(held.items()) if isinstance(held, dict) else enumerate(held)


def moved(before: dict[Any, Any], now: dict[Any, Any]) -> list[Any]:
    """The keys that have been taken out and put in again, in the order of ``now``."""
    usual = [*(key for key in before if key in now), *(key for key in now if key not in before)]
    keys = list(now)
    same = next(
        (at for at, pair in enumerate(zip(usual, keys, strict=True)) if pair[0] is not pair[1]),
        None,
    )
    return [] if same is None else keys[same:]
