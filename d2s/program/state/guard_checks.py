"""Guards, checked fast: mostly by seeing that the same objects stand in the same places.

A program relies on many places, and nearly always nothing has changed: then each place holds the
very object that it held on the last check.  So places are sorted by the sort of thing that holds
them, and one loop in C for each sort compares what is there with what was there.  When that fails,
for a number that was replaced by an equal one, say, the guards themselves are asked, and what is
there now is remembered.

    layer.training, layer.name, table[0]    ->    one loop over dicts, one over lists
"""

from __future__ import annotations

import collections
import operator
import types
from collections.abc import Callable, Iterable
from typing import Any, Final

from d2s import paddle_bridge as bridge
from d2s.program.state.guards import Guard, form, is_plain
from d2s.program.state.places import (
    ABSENT,
    CONTAINERS,
    SCALARS,
    Member,
    Place,
    Reading,
    Slot,
    keys_of,
)
from d2s.runtime.values.fields import ClassFields, SlotFields

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
        self._fast: Check | None = None
        self._missed = 0

    def hold(self) -> bool:
        """Whether all of them do."""
        fast = self._fast
        if fast is not None:
            if fast():
                return True
            self._missed += 1
        for guard in self.guards:
            if not guard.holds():
                return False
        # What is another object on every call is not worth remembering.
        self._fast = _Plan(self.guards).check() if self._missed < _MOST else None
        return True

    def text(self, name: Callable[[Any], str]) -> str:
        """What tells, written out, that no place has changed; the guards have just held.

        Args:
            name: gives things names in the text.
        """
        if self._fast is None:
            return "False"
        return _Plan(self.guards).text(name)


def in_place(places: list[tuple[Place, Any]]) -> Check:
    """A check that tells whether each place still holds the object that it holds now.

    Where there is no fast way to see, it says that one does not.

    Args:
        places: places, and the objects that they hold.
    """
    plan = _Plan([])
    if not all(plan.expect(place, thing) for place, thing in places):
        return lambda: False
    return plan.check()


class _Plan:
    """Sorts guards that hold now into checks."""

    def __init__(self, guards: list[Guard]) -> None:
        self.dicts: dict[Any, tuple[Any, Any, Any]] = {}
        self.classes: dict[Any, tuple[Any, Any, Any]] = {}
        self.empty: dict[int, Any] = {}
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
            if guard.place.key is keys_of and now == ():
                self.empty[id(guard.place.scope)] = guard.place.scope
            else:
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
            self.classes[id(kind), place.key] = vars(kind), place.key, value
            return True
        if isinstance(holder, SlotFields):
            self.slots.append((holder.owner, place.key, value))
            return True
        self.dicts[id(holder), place.key] = holder, place.key, value
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
                found = space.get(place.key, ABSENT)
                self.classes[id(kind), place.key] = space, place.key, found
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

    def check(self) -> Check:
        """All of them."""
        return _every([*map(_same_function, self._functions()), *self._loops()])

    def text(self, name: Callable[[Any], str]) -> str:
        """All of them, as an expression."""
        asked: list[str] = []
        for function, *known in self._functions():
            here = name(function)
            fields = zip(sorted(_OF_A_FUNCTION), known, strict=True)
            asked += [f"{here}.{field} is {name(value)}" for field, value in fields]
        asked += [f"{name(check)}()" for check in self._loops()]
        return " and ".join(asked) or "True"

    def _loops(self) -> list[Check]:
        """One loop for each sort of holder, and whatever is left, but for functions."""
        found: list[Check] = []
        if self.dicts:
            found.append(_same(dict.get, self.dicts.values()))
        if self.classes:
            found.append(_same(types.MappingProxyType.get, self.classes.values()))
        if self.empty:
            found.append(_all_empty(list(self.empty.values())))
        if self.cells:
            found.append(_same_cells(self.cells))
        if self.slots:
            found.append(_same(getattr, self.slots))
        return [*found, *self.others]

    def _functions(self) -> list[_Function]:
        """Takes from the slots those of functions of which all is read that a call depends on."""
        owners: dict[int, dict[str, tuple[Any, str, Any]]] = {}
        for slot in self.slots:
            if type(slot[0]) is types.FunctionType:
                owners.setdefault(id(slot[0]), {})[slot[1]] = slot
        found: list[_Function] = []
        for slots in owners.values():
            if slots.keys() == _OF_A_FUNCTION:
                self.slots = [slot for slot in self.slots if slots.get(slot[1]) is not slot]
                code, defaults, keywords = (slots[name] for name in sorted(_OF_A_FUNCTION))
                found.append((code[0], code[2], defaults[2], keywords[2]))
        return found


_OF_A_FUNCTION: Final = {"__code__", "__defaults__", "__kwdefaults__"}

_Function = tuple[types.FunctionType, Any, Any, Any]


def _same_function(known: _Function) -> Check:
    """Whether a function is what it was, without a loop: each converted function asks for it."""
    function, code, defaults, keywords = known

    def check() -> bool:
        return (
            function.__code__ is code
            and function.__defaults__ is defaults
            and function.__kwdefaults__ is keywords
        )

    return check


def _every(checks: list[Check]) -> Check:
    if len(checks) == 1:
        return checks[0]
    if len(checks) == 2:
        first, second = checks
        return lambda: first() and second()
    return lambda: all(check() for check in checks)


def _same(get: Callable[..., Any], triples: Iterable[tuple[Any, Any, Any]]) -> Check:
    """Whether each holder still gives, for its key, what it gave."""
    holders, keys, values = map(list, zip(*triples, strict=True))
    absent = [ABSENT] * len(keys)

    def check() -> bool:
        return all(map(operator.is_, map(get, holders, keys, absent), values))

    return check


def _all_empty(tables: list[Any]) -> Check:
    return lambda: not any(map(len, tables))


def _same_cells(pairs: list[tuple[Any, Any]]) -> Check:
    cells, values = [cell for cell, _ in pairs], [value for _, value in pairs]
    contents = operator.attrgetter("cell_contents")

    def check() -> bool:
        try:
            return all(map(operator.is_, map(contents, cells), values))
        except ValueError:  # one of them is not bound
            return False

    return check


def _told(ask: Callable[[Any], Any], thing: Any, answer: Any) -> Check:
    """Whether ``thing`` still tells what it has told; for constants and tuples of them."""
    if isinstance(answer, tuple) and all(isinstance(item, SCALARS) for item in answer):
        return lambda: bool(ask(thing) == answer)
    return lambda: ask(thing) is answer
