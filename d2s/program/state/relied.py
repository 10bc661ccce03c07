"""From what a capture has seen to what its program relies on (rule G2).

What the captured code names becomes guards: a run finds the same Python values, structure and kinds
of tensors there, or another program is captured.  Where a tensor that the program reads is kept is
its home: a run reads the tensor that stands there then.
"""

from __future__ import annotations

import operator
import sys
import types
from collections.abc import Callable, Container, Iterator
from typing import Any

import numpy as np
import paddle

from d2s import paddle_bridge as bridge
from d2s.program.keys.call_key import Identity
from d2s.program.state.guards import (
    BUFFERS,
    Guard,
    SameAs,
    constant,
    contents_of,
    equal,
    form,
    is_constant,
    kind_of_tensor,
    members,
    modes,
    numbers_in,
    scalar,
)
from d2s.program.state.places import (
    ABSENT,
    CONTAINERS,
    LARGE,
    NAMED,
    SCALARS,
    Place,
    Reading,
    Upcoming,
)
from d2s.program.state.reads import explore
from d2s.program.state.records import Change, Given, Record, entries, is_symbol
from d2s.program.state.tracker import Watch
from d2s.runtime.values import tree
from d2s.runtime.values.choice import Choice
from d2s.runtime.values.fields import is_object
from d2s.runtime.values.objects import BOOKKEEPING, defines


def homes_of(watch: Watch, tensors: list[Any]) -> list[tuple[int, Place]]:
    """Every place where one of ``tensors`` is kept, with its index; after :meth:`Watch.undo`."""
    if not tensors:
        return []
    wanted = {id(tensor): index for index, tensor in enumerate(tensors)}
    found: list[tuple[int, Place]] = []
    for record in watch.records.values():
        for key, value in () if _is_a_set(record) else entries(record.before):
            index = wanted.get(id(value))
            if index is not None:
                found.append((index, record.entry(key)))
            elif isinstance(value, tuple):
                found.extend(_inside(record.entry(key), value, wanted))
    watch.explored = watch.explored or explore(watch)
    for place in watch.explored:
        value = place.get()
        index = wanted.get(id(value))
        if index is not None:
            found.append((index, place))
        elif isinstance(place, Upcoming) and isinstance(value, tuple):
            found.extend(_inside(place, value, wanted))
    found = _read_alone(watch, found)
    return sorted(found, key=lambda item: item[0])


def _read_alone(watch: Watch, homes: list[tuple[int, Place]]) -> list[tuple[int, Place]]:
    """Homes without those in attributes that the code does not name, of what an iterator gives.

    The list that an iterator goes over may be one; it does not move with the iterator.
    """
    given = {index for index, place in homes if _is_given(place)}
    if not given:
        return homes
    return [
        (index, place)
        for index, place in homes
        if index not in given or _is_given(place) or _is_named(watch, place)
    ]


def _is_given(place: Place | None) -> bool:
    """Whether what is kept at ``place`` is what an iterator gives, or a part of that."""
    while place is not None and not isinstance(place, Upcoming):
        place = place.parent
    return place is not None


def _is_named(watch: Watch, place: Place | None) -> bool:
    """Whether the code names all attributes on the way to ``place``."""
    while place is not None:
        record = watch.records.get(id(place.scope))
        owner = None if record is None else record.object or record.owner
        if place.attribute and place.key not in watch.names and not watch.reads_all(owner):
            return False
        place = place.parent
    return True


def _is_a_set(record: Record) -> bool:
    """Whether what is recorded has no order that stays, and so no places."""
    return isinstance(record.scope, set)


def _inside(place: Place, value: Any, wanted: dict[int, int]) -> Iterator[tuple[int, Place]]:
    for index, item in enumerate(tuple.__iter__(value)):
        part = Place(value, index, f"{place.path}[{index}]", place)
        if isinstance(item, tuple):
            yield from _inside(part, item, wanted)
        elif id(item) in wanted:
            yield wanted[id(item)], part


def guards_of(
    watch: Watch, changes: list[Change], tensors: list[Any], born: Container[int]
) -> list[Guard]:
    """What must be as it was for the program to be used again; call it after :meth:`Watch.undo`.

    Args:
        watch: what the capture has seen.
        changes: what the capture has changed.
        tensors: those that the program reads, which :func:`homes_of` has.
        born: ids of the objects that each run makes.
    """
    written = {
        change.place.identity: _is_made(change.value, born)
        for change in changes
        if not change.whole
    }
    places = watch.explored = explore(watch)
    given = _given(watch, changes)
    maker = _Guards(watch, written, given, {id(tensor) for tensor in tensors})
    for record in list(watch.records.values()):
        if record.names is not None or isinstance(record.scope, types.CellType):
            for key in record.before:
                maker.value(record.entry(key))
        elif record.fields:
            for key in (key for key in record.before if key in watch.names):
                maker.value(record.entry(key))
            if watch.reads_all(record.object):
                own = BOOKKEEPING if record.owner is not None else ()
                for key in (key for key in record.before if key not in own):
                    maker.value(record.entry(key))
            if record.library:
                for key, value in record.before.items():
                    if not key.startswith("_") and isinstance(value, SCALARS):
                        maker.value(record.entry(key))
            for key in sorted(watch.names - record.before.keys()):
                if record.entry(key).identity in written:
                    maker.value(record.entry(key))
    moving = [each.parent for each in watch.opaque.upcoming if each.parent is not None]
    for place in [*moving, *places, *(Reading(t, numbers_in, t.name) for t in watch.read.values())]:
        maker.value(place)
    return maker.found


def _given(watch: Watch, changes: list[Change]) -> set[tuple[int, str]]:
    """Attributes that get a new value on each run, whatever they held: nobody relies on that.

    The code only assigns them, or they were not there, and it would have failed without them.
    """
    found: set[tuple[int, str]] = set()
    for change in changes:
        record, name = change.record, change.key
        if change.whole or not record.fields or record.names is not None:
            continue
        kind = type(record.object)
        needed = change.before is ABSENT and not (
            name in watch.asked
            or watch.reads_all(record.object)
            or hasattr(kind, name)
            or defines(kind, "__getattr__")
        )
        surely = change.value is not ABSENT and (id(record.object), name) not in watch.handed
        only = watch.only_assigned(record, name) and record.entry(name).identity not in watch.lifted
        if (only or needed) and surely and not isinstance(record.object, type):
            found.add((id(record.scope), name))
    return found


def _is_made(value: Any, born: Container[int]) -> bool:
    """Whether what a run has written may be another object each time."""
    if isinstance(value, Choice):
        return any(_is_made(leaf, born) for leaf in value.leaves())
    return is_symbol(value) or isinstance(value, CONTAINERS) or id(value) in born


class _Guards:
    """Makes guards of places."""

    def __init__(
        self,
        watch: Watch,
        written: dict[Any, bool],
        given: set[tuple[int, str]],
        tensors: set[int],
    ) -> None:
        self.watch = watch
        self.written = written
        self.given = given
        self.tensors = tensors
        self.found: list[Guard] = []
        self.seen: set[Any] = set()
        self.known: dict[int, tuple[Place, Any]] = {}  # with what stands there: some is made anew
        self.moving = {id(place.scope.owner) for place in watch.opaque.upcoming}
        self.moving -= watch.opaque.fixed
        self.lifted = {
            (id(each.place.holder()), each.place.key): each
            for each in watch.lifted.values()
            if not isinstance(each.change, Given)  # its holder may be made anew
        }

    def value(self, place: Place) -> None:
        """Guard what is at ``place``."""
        identity, way = place.identity, place.way
        if way in self.seen or (id(place.scope), place.key) in self.given:
            return
        self.seen.add(way)
        value = place.get()
        here = id(place.holder()), place.key
        lifted = self.watch.lifted.get(identity) or self.lifted.get(here)
        if lifted is not None:
            self.found.append(lifted.guard(place))
        elif value is ABSENT or is_constant(value):
            kept = value if isinstance(value, SCALARS) else ABSENT
            self.found.append(Guard(place, constant, constant(value), kept))
        elif bridge.is_eager(value):
            if id(value) in self.watch.read:
                self.found.append(Guard(place, Identity, Identity(value), value))
            elif id(value) not in self.tensors:
                self.found.append(Guard(place, kind_of_tensor, kind_of_tensor(value)))
        elif isinstance(value, (np.ndarray, *BUFFERS)):
            self.found.append(Guard(place, contents_of, contents_of(value)))
        elif isinstance(value, (*CONTAINERS, tuple)):
            self._container(place, value)
        elif isinstance(value, paddle.nn.Layer):
            self.found.append(Guard(place, modes, modes(value)))
        elif id(value) in self.moving:
            self.found.append(Guard(place, type, type(value)))
            first, _ = self.known.setdefault(id(value), (place, value))
            if first is not place:
                self.found.append(Guard(place, SameAs(first), True))
        elif self.written.get(identity):
            self.found.append(Guard(place, type, type(value)))
        elif identity in self.written and not is_object(value):
            self.found.append(Guard(place, equal, equal(value), value))
        else:
            self.found.append(Guard(place, Identity, Identity(value), value))

    def _only_appended(self, place: Place) -> set[str]:
        """The attributes to which the code only appends, of the object that ``place`` is in."""
        record = self.watch.records.get(id(place.scope))
        return self.watch.only(self.watch.appended, None if record is None else record.object)

    def _container(self, place: Place, value: Any) -> None:
        watch = self.watch
        appended = place.attribute and place.key in self._only_appended(place)
        grows = type(value) is list and (appended or place.path in watch.filled)
        if grows or value is sys.modules:
            self.found.append(Guard(place, Identity, Identity(value), value))
            return
        if len(value) > NAMED and (len(value) > LARGE or not _nested(value)):
            self.found.append(Guard(place, _shallow(value), True))
            return
        self.found.append(Guard(place, form, form(value)))
        first, _ = self.known.setdefault(id(value), (place, value))
        if first is not place:  # known under two names: both must go on to mean one object
            self.found.append(Guard(place, SameAs(first), True))
            return
        if not tree.is_indexed(value) and tree.is_hashed(value):
            self.found.append(Guard(place, members, members(value)))
            return
        for key, _ in tree.pairs(value):
            self.value(Place(value, key, f"{place.path}[{key!r}]", place))


def _nested(value: Any) -> bool:
    """Whether something else than constants and tensors is in a container."""
    items = value.values() if isinstance(value, dict) else value
    return not all(isinstance(item, SCALARS) or bridge.is_eager(item) for item in items)


def _shallow(value: Any) -> Callable[[Any], bool]:
    """Whether a container has the items that it has now, or constants and tensors like them."""
    kind, items = type(value), _flat(value)

    def same(now: Any) -> bool:
        if type(now) is not kind or len(now) != count:
            return False
        found = _flat(now)
        return all(map(operator.is_, found, items)) or all(map(_alike, found, items))

    count = len(value)
    if isinstance(value, set):
        members = set(value)
        return lambda now: type(now) is kind and now == members
    return same


def _flat(value: Any) -> list[Any]:
    return [*value, *value.values()] if isinstance(value, dict) else list(value)


def _alike(one: Any, other: Any) -> bool:
    if one is other:
        return True
    if bridge.is_eager(one):
        return bool(bridge.is_eager(other) and kind_of_tensor(one) == kind_of_tensor(other))
    return isinstance(one, SCALARS) and bool(scalar(one) == scalar(other))
