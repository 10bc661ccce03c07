"""Guards, checked fast: mostly by seeing that the same objects stand in the same places.

A program relies on many places, and nearly always nothing has changed: then each place holds the
very object that it held on the last check.  So places are sorted by what holds them, and one loop
in C compares what is there with what was there.  When that fails, for a number that was replaced
by an equal one, say, the guards themselves are asked, and what is there now is remembered.
"""

from __future__ import annotations

import collections
import operator
import types
from collections.abc import Callable
from typing import Any, Final

from d2s import paddle_bridge as bridge
from d2s.operators.fields import ClassFields, SlotFields
from d2s.program.places import (
    ABSENT,
    CONTAINERS,
    SCALARS,
    Member,
    Place,
    Reading,
    Slot,
)
from d2s.program.state import Guard, form, is_plain

Check = Callable[[], bool]

_MOST: Final = 32
"""How often what was remembered may turn out to have changed."""


class Checks:
    """The guards of one program.

    Args:
        guards: all of them.
    """

    def __init__(self, guards: list[Guard]) -> None:
        self.guards = guards
        self._fast: list[Check] | None = None
        self._missed = 0

    def hold(self) -> bool:
        """Whether all of them do."""
        if not self.guards:
            return True
        fast = self._fast
        if fast is not None:
            for check in fast:
                if not check():
                    self._missed += 1
                    break
            else:
                return True
        for guard in self.guards:
            if not guard.holds():
                return False
        # What is another object on every call is not worth remembering.
        self._fast = _Plan(self.guards).checks() if self._missed < _MOST else None
        return True


def in_place(places: list[tuple[Place, Any]]) -> Check:
    """A check that tells whether each place still holds the object that it holds now.

    Where there is no fast way to see, it says that one does not.

    Args:
        places: places, and the objects that they hold.
    """
    plan = _Plan([])
    if not all(plan.expect(place, thing) for place, thing in places):
        return lambda: False
    checks = plan.checks()
    return lambda: all(check() for check in checks)


class _Plan:
    """Sorts guards that hold now into checks."""

    def __init__(self, guards: list[Guard]) -> None:
        self.dicts: dict[int, tuple[Any, dict[Any, Any]]] = {}
        self.cells: list[tuple[Any, Any]] = []
        self.slots: list[tuple[Any, str, Any]] = []
        self.others: list[Check] = []
        self.known: set[Any] = set()
        for guard in guards:
            self.add(guard)

    def add(self, guard: Guard) -> None:
        now = guard.place.get()
        if is_plain(guard) and self.expect(guard.place, now):
            if guard.test is form and isinstance(now, CONTAINERS):
                self.contents(now)
            return
        if type(guard.place) is Reading:
            self.others.append(_told(guard.place.key, guard.place.scope, now))
        else:
            self.others.append(guard.holds)

    def expect(self, place: Place, value: Any) -> bool:
        """Let ``value`` be what must stand at ``place``; false if there is no fast way to see."""
        if type(place) is Member:
            return self.member(place)
        if type(place) is Slot:
            self.slots.append((place.scope, place.key, value))
            return True
        if type(place) is Reading:
            return False
        holder = place.scope
        if place.parent is not None:
            parent = place.parent.get()
            if not self.expect(place.parent, parent):
                return False
            holder = place.holder()
        if isinstance(holder, types.CellType):
            if (id(holder), None) not in self.known:
                self.known.add((id(holder), None))
                if value is ABSENT:
                    return False
                self.cells.append((holder, value))
            return True
        if type(holder) in (tuple, list, collections.deque):
            return self.item(holder, place.key, value)
        if not isinstance(holder, dict):
            return False
        if isinstance(holder, ClassFields):
            kind = holder.owner
            self.dicts.setdefault(id(kind), (vars(kind), {}))[1][place.key] = value
            return True
        if isinstance(holder, SlotFields):
            self.slots.append((holder.owner, place.key, value))
            return True
        self.dicts.setdefault(id(holder), (holder, {}))[1][place.key] = value
        return True

    def item(self, holder: Any, index: int, value: Any) -> bool:
        """The same for an item of a sequence."""
        if type(holder) is not tuple and (id(holder), index) not in self.known:
            self.known.add((id(holder), index))
            self.others.append(lambda: len(holder) > index and holder[index] is value)
        return True

    def member(self, place: Place) -> bool:
        """The same for an attribute of a class: every class that may have it still does or not."""
        if bridge.is_eager(place.get()):
            return False
        for kind in place.scope.__mro__:
            if kind is not object:
                space = vars(kind)
                entry = self.dicts.setdefault(id(kind), (space, {}))
                entry[1][place.key] = space.get(place.key, ABSENT)
        return True

    def contents(self, container: Any) -> None:
        """Let a container that is read have the size that it has."""
        if (id(container), len) in self.known:
            return
        self.known.add((id(container), len))
        count = len(container)
        if isinstance(container, dict):
            keys = list(container)
            self.others.append(lambda: len(container) == count and list(container) == keys)
        else:
            self.others.append(lambda: len(container) == count)

    def checks(self) -> list[Check]:
        """One function for each holder, and one for whatever is left."""
        found = [_same(holder.get, expected) for holder, expected in self.dicts.values()]
        if self.cells:
            found.append(_same_cells(self.cells))
        if self.slots:
            found.append(_same_slots(self.slots))
        return [*found, *self.others]


def _same(get: Callable[..., Any], expected: dict[Any, Any]) -> Check:
    keys, values = list(expected), list(expected.values())
    absent = [ABSENT] * len(keys)

    def check() -> bool:
        return all(map(operator.is_, map(get, keys, absent), values))

    return check


def _same_cells(pairs: list[tuple[Any, Any]]) -> Check:
    cells, values = [cell for cell, _ in pairs], [value for _, value in pairs]
    contents = operator.attrgetter("cell_contents")

    def check() -> bool:
        try:
            return all(map(operator.is_, map(contents, cells), values))
        except ValueError:  # one of them is not bound
            return False

    return check


def _same_slots(triples: list[tuple[Any, str, Any]]) -> Check:
    owners, names, values = ([triple[index] for triple in triples] for index in range(3))
    absent = [ABSENT] * len(triples)

    def check() -> bool:
        return all(map(operator.is_, map(getattr, owners, names, absent), values))

    return check


def _told(ask: Callable[[Any], Any], thing: Any, answer: Any) -> Check:
    """Whether ``thing`` still tells what it has told; for constants and tuples of them."""
    if isinstance(answer, tuple) and all(isinstance(item, SCALARS) for item in answer):
        return lambda: bool(ask(thing) == answer)
    return lambda: ask(thing) is answer
