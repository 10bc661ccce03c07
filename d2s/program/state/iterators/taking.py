"""Iterators of the state from which the captured code takes items (rule F4).

An item that is taken on each run is what the iterator gives next: it is looked at before the run,
as an attribute would be, and the run takes the iterator on.  So a tensor is read by the program, a
number is a guard or an input, and whether there is an item is a guard, too.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from d2s import paddle_bridge as bridge
from d2s.errors import UnsupportedInGraphError
from d2s.program.state.guards import Guard, same_constant_now
from d2s.program.state.places import Place, Reading, Upcoming, UpcomingPart
from d2s.program.state.records import Given, Record
from d2s.program.state.tracker import Watch
from d2s.runtime.trace import error_here
from d2s.runtime.values.fields import AheadFields
from d2s.runtime.values.iterators.copies import parts_of
from d2s.runtime.values.objects import KEEP_ELSEWHERE


class Taking:
    """Gives the captured code the items of iterators that were there before.

    Args:
        watch: the state; it is told of what is taken.
        function: what is captured.

    Attributes:
        undecided: what is asked for now is not taken by every run that comes here.
    """

    def __init__(self, watch: Watch, function: Callable[..., Any]) -> None:
        self.undecided = False
        self._watch = watch
        self._function = function
        self._taken: dict[int, AheadFields] = {}
        self._parts: dict[int, tuple[Any, Any]] = {}
        self._places: dict[tuple[int, int], Upcoming] = {}

    def knows(self, iterator: object) -> bool:
        """Whether it is kept where each run finds it."""
        return id(iterator) in self._watch.opaque.places

    def path(self, iterator: object) -> str:
        """What a reader would call it."""
        return self._watch.opaque.path(iterator) or type(iterator).__name__

    def item(self, fields: AheadFields, number: int) -> Any:
        """The item that an iterator gives after so many others of this call."""
        watch, owner = self._watch, fields.owner
        kept = watch.opaque.places[id(owner)]
        if id(owner) not in self._taken:
            self._check_apart(owner)
            self._taken[id(owner)] = fields
            watch.slots(owner, kept.path, kept)
        if (id(owner), number) not in self._places:
            place = Upcoming(fields, number, f"next({kept.path})", kept)
            self._places[id(owner), number] = place
            found = fields.item(number)
            watch.add(found, place.path, place)
            watch.opaque.upcoming.append(place)
        return fields.item(number)

    def _check_apart(self, iterator: Iterator[Any]) -> None:
        """Refuse to take items of two iterators one of which takes its own from the other.

        Raises:
            UnsupportedInGraphError: (D2S205).
        """
        for part in parts_of(iterator):
            other, _ = self._parts.setdefault(id(part), (iterator, part))
            if type(part) is itertools.count and self._watch.record_of(part) is not None:
                other = part  # which the function may ask for numbers
            if other is not iterator:
                raise error_here(
                    UnsupportedInGraphError,
                    f"the function takes items of {self.path(iterator)!r} and of "
                    f"{self.path(other)!r}, which take them from one iterator",
                    KEEP_ELSEWHERE,
                )

    def settle(self, met: Iterable[object], relied: list[Guard]) -> list[Given]:
        """The capture is over, and the state as it was: the numbers and tensors that were given.

        Args:
            met: the attributes of iterators that it has met.
            relied: is told that tensors which were two are two again.

        Raises:
            UnsupportedInGraphError: (D2S205) the function has changed what an iterator goes over.
        """
        found = list[Given]()
        for (owner, number), place in self._places.items():
            fields = self._taken[owner]
            if not _same(fields.given[number], place.get()):
                code = getattr(inspect.unwrap(self._function), "__code__", None)
                raise UnsupportedInGraphError(
                    f"the function changes what {self.path(fields.owner)!r}, of type "
                    f"{type(fields.owner).__name__!r}, goes over, and takes items of it",
                    cure="change it outside of the converted function, or iterate over a copy",
                    file=None if code is None else code.co_filename,
                    line=None if code is None else code.co_firstlineno,
                )
            found.extend(_given(place, fields.given[number]))
        self.forget(met)
        tensors = [each.place for each in found if bridge.is_eager(each.before)]
        if len(tensors) > 1:
            told = Reading(tensors, _which, " and ".join(place.path for place in tensors))
            relied.append(Guard(told, same_constant_now, told.get()))
        return found

    @staticmethod
    def forget(met: Iterable[object]) -> None:
        """Nothing is known of iterators any more: the capture is over."""
        for fields in met:
            if isinstance(fields, AheadFields):
                fields.forget()


def _which(places: list[Place]) -> tuple[int, ...]:
    """Which of the things at some places are one: for each, the number of the first such place."""
    first: dict[int, int] = {}
    return tuple(first.setdefault(id(place.get()), at) for at, place in enumerate(places))


def _same(one: Any, other: Any) -> bool:
    """Whether two items are one, or made of the same: ``zip`` makes a tuple each time."""
    if type(one) is tuple and type(other) is tuple:
        return len(one) == len(other) and all(map(_same, one, other))
    return one is other or (type(one) is type(other) and type(one) in (int, str) and one == other)


def _given(place: Place, thing: Any) -> Iterator[Given]:
    """The numbers and tensors in an item."""
    if type(thing) in (int, float) or bridge.is_eager(thing):
        yield Given(Record(None, place.path), place.key, None, thing, place)
    elif isinstance(thing, tuple):
        for index, part in enumerate(thing):
            yield from _given(UpcomingPart(thing, index, f"{place.path}[{index}]", place), part)
