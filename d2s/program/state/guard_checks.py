"""Guards, checked fast: mostly by seeing that the same objects stand in the same places.

A program relies on many places, and nearly always nothing has changed: then each place holds the
very object that it held on the last check.  So places are sorted by the sort of thing that holds
them, and one loop in C for each sort compares what is there with what was there.  When that fails,
for a number that was replaced by an equal one, say, the guards themselves are asked, and what is
there now is remembered.  A guard whose place holds another object again and again is asked by
itself from then on; the others stay in their loops.

    layer.training, layer.name, table[0]    ->    one loop over dicts, one over lists
"""

from __future__ import annotations

import collections
import itertools
import operator
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import paddle

from d2s import paddle_bridge as bridge
from d2s.program.state.guards import (
    SIMPLE,
    Guard,
    SameAs,
    form,
    is_plain,
    keys_in,
    kind_of_tensor,
    members,
    modes,
)
from d2s.program.state.places import (
    ABSENT,
    CONTAINERS,
    SCALARS,
    Found,
    Member,
    Place,
    Reading,
    Slot,
    Upcoming,
    keys_of,
)
from d2s.runtime.values import tree
from d2s.runtime.values.fields import ClassFields, CountFields, SlotFields

Check = Callable[[], bool]

_MOST: Final = 32
"""How often what was remembered may turn out to have changed for no reason that a guard tells."""

_OFTEN: Final = 2
"""How often a place may hold another object before its guard is asked by itself."""


class Checks:
    """The guards of one program.

    Args:
        guards: all of them.
    """

    def __init__(self, guards: list[Guard]) -> None:
        self.guards = guards
        self._fast: Check | None = None
        self._missed = 0
        self._broken = 0
        self._last = Found()
        self._plan = _Plan(())
        self._moves: collections.Counter[int] = collections.Counter()

    def hold(self) -> bool:
        """Whether all of them do."""
        fast = self._fast
        if fast is not None:
            if fast():
                return True
            if not self.guards[self._broken].holds():  # two programs in turn: it is the same again
                return False
            self._missed += 1
        seen = Found()
        for at, guard in enumerate(self.guards):
            if not guard.holds(seen):
                self._broken = at
                return False
        self._remember(seen)
        return True

    def _remember(self, seen: Found) -> None:
        """Check from now on that everything is as it is now; what comes and goes is asked."""
        moved = self._moved_since(seen)
        self._moves.update(moved)
        often = [self._moves[at] >= _OFTEN for at in range(len(self.guards))]
        steady = [guard for guard, moves in zip(self.guards, often, strict=True) if not moves]
        self._plan = _Plan(steady, itertools.compress(self.guards, often), seen)
        lost = self._missed >= _MOST and not moved
        self._fast = None if lost else self._plan.check()

    def _moved_since(self, seen: Found) -> list[int]:
        """The guards of places that hold another object than the last time, or stand elsewhere."""
        then, self._last = self._last.values, seen
        moved = {at for at, now in seen.values.items() if at in then and then[at] is not now}
        if not moved:
            return []
        return [at for at, guard in enumerate(self.guards) if not moved.isdisjoint(_way(guard))]

    def text(self, name: Callable[[Any], str]) -> str:
        """What tells, written out, that no place has changed; the guards have just held.

        Args:
            name: gives things names in the text.
        """
        if self._fast is None:
            return "False"
        if self._missed:  # what is remembered now will not stay
            return f"{name(self.hold)}()"
        return self._plan.text(name)


def _way(guard: Guard) -> Iterator[int]:
    """The place of a guard, where its scope is kept, and so on, up to where nothing can change."""
    step: Place | None = guard.place
    if isinstance(step, Reading):
        return  # what is asked may make its answer anew each time
    while step is not None:
        yield id(step)
        step = step.parent


def in_place(places: list[tuple[Place, Any]]) -> Check:
    """A check that tells whether each place still holds the object that it holds now.

    Where there is no fast way to see, it says that one does not.

    Args:
        places: places, and the objects that they hold.
    """
    plan = _Plan(())
    if not all(plan.expect(place, thing) for place, thing in places):
        return lambda: False
    return plan.check()


class _Plan:
    """Sorts guards that hold now into checks.

    Args:
        guards: those whose places hold on to what they have.
        asked: those that are asked by themselves.
        seen: what stands at their places.
    """

    def __init__(
        self, guards: Iterable[Guard], asked: Iterable[Guard] = (), seen: Found | None = None
    ) -> None:
        self.seen = seen or Found()
        self.dicts: dict[Any, tuple[Any, Any, Any]] = {}
        self.classes: dict[Any, tuple[Any, Any, Any]] = {}
        self.items: dict[Any, tuple[Any, int, Any]] = {}
        self.sizes: dict[int, tuple[Any, int]] = {}
        self.keys: dict[int, tuple[Any, list[Any]]] = {}
        self.keyed: dict[int, tuple[Any, tuple[Any, ...]]] = {}
        self.values: dict[int, Any] = {}
        self.sets: dict[int, tuple[Any, Any]] = {}
        self.tensors: dict[int, Any] = {}
        self.cells: dict[int, tuple[Any, Any]] = {}
        self.slots: list[tuple[Any, str, Any]] = []
        self.others: list[Check] = []
        for guard in guards:
            self.add(guard)
        self.others += [guard.holds for guard in asked]
        self.functions = self._functions()

    def add(self, guard: Guard) -> None:
        """Let ``guard`` be seen to hold, one way or the other."""
        place, now = guard.place, self.seen.at(guard.place)
        if type(place) is Reading:
            self.reading(place, now, guard)
        elif not (self.follows(guard.test, now) and self.expect(place, now)):
            self.others.append(guard.holds)

    def reading(self, place: Reading, now: Any, guard: Guard) -> None:
        """What something tells: the keys of a table without asking it, the rest by asking."""
        if place.key is keys_of:
            self.contents(place.scope)
        elif is_plain(guard):
            self.others.append(_told(place.key, place.scope, now))
        else:
            self.others.append(guard.holds)

    def follows(self, test: Any, now: Any) -> bool:
        """Whether a test tells the same while ``now`` stands where it does, and has what it has.

        What it has is remembered.
        """
        if test is form:
            if isinstance(now, CONTAINERS):
                self.contents(now)
        elif test is members:
            if not all(type(item) is str for item in now):
                return False
            self.sets[id(now)] = now, frozenset(now)
        elif test is kind_of_tensor:
            if not bridge.is_eager(now):
                return False
            self.tensors[id(now)] = now
        elif test is modes:
            return self.modes(now)
        elif type(test) is SameAs:
            return self.expect(test.place, now)
        else:
            return test in SIMPLE
        return True

    def expect(self, place: Place, value: Any) -> bool:
        """Let ``value`` be what must stand at ``place``; false if there is no fast way to see."""
        if type(place) is Member:
            return self.member(place)
        if type(place) is Slot:
            self.slots.append((place.scope, place.key, value))
            return True
        if type(place) in (Reading, Upcoming):
            return False
        holder = place.scope
        if place.parent is not None:
            if not self.expect(place.parent, self.seen.at(place.parent)):
                return False
            holder = place.holder(self.seen)
        if isinstance(holder, types.CellType):
            if value is not ABSENT:
                self.cells[id(holder)] = holder, value
            return value is not ABSENT
        if type(holder) in tree.PYTHONS and tree.is_sequence(holder):
            if tree.is_mutable(holder):
                self.items[id(holder), place.key] = holder, place.key, value
            return True
        if not tree.is_mapping(holder):
            return False
        if isinstance(holder, ClassFields):
            kind = holder.owner
            self.classes[id(kind), place.key] = vars(kind), place.key, value
            return True
        if isinstance(holder, CountFields):
            return False
        if isinstance(holder, SlotFields):
            self.slots.append((holder.owner, place.key, value))
            return True
        self.dicts[id(holder), place.key] = holder, place.key, value
        return True

    def member(self, place: Place) -> bool:
        """The same for an attribute of a class: every class that may have it still does or not."""
        if bridge.is_eager(self.seen.at(place)):
            return False
        for kind in place.scope.__mro__:
            if kind is not object:
                space = vars(kind)
                found = space.get(place.key, ABSENT)
                self.classes[id(kind), place.key] = space, place.key, found
        return True

    def modes(self, layer: Any) -> bool:
        """The same for a layer whose modes count, and those of all layers in it."""
        if not isinstance(layer, paddle.nn.Layer):
            return False
        for each in layer.sublayers(include_self=True):
            fields = each.__dict__
            if "training" not in fields:  # a class says it for its layers
                return False
            self.dicts[id(fields), "training"] = fields, "training", fields["training"]
            table = each._sub_layers
            if table:
                self.values[id(table)] = table
            else:
                self.sizes[id(table)] = table, 0
        return True

    def contents(self, container: Any) -> None:
        """Let a container that is read have the size that it has, a dict its keys."""
        if isinstance(container, dict) and any(map(bridge.is_eager, container)):
            self.keyed[id(container)] = container, keys_in(container)
        elif isinstance(container, dict) and container:
            self.keys[id(container)] = container, list(container)
        else:
            self.sizes[id(container)] = container, len(container)

    def check(self) -> Check:
        """All of them."""
        return _every([*map(_same_function, self.functions), *self._loops()])

    def text(self, name: Callable[[Any], str]) -> str:
        """All of them, as an expression."""
        asked: list[str] = []
        for function, *known in self.functions:
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
        if self.sizes:
            found.append(_tells(len, self.sizes.values()))
        if self.keys:
            found.append(_tells(list, self.keys.values()))
        if self.keyed:
            found.append(_tells(keys_in, self.keyed.values()))
        if self.values:
            found.append(_same_values(list(self.values.values())))
        if self.items:
            found.append(_same_items(self.items.values()))
        if self.sets:
            found.append(_tells(frozenset, self.sets.values()))
        if self.tensors:
            tensors = list(self.tensors.values())
            found += [same_kinds(tensors), _tells(_SHAPE, [(t, _SHAPE(t)) for t in tensors])]
        if self.cells:
            found.append(_same_cells(self.cells.values()))
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
        taken: set[int] = set()
        for slots in owners.values():
            if slots.keys() == _OF_A_FUNCTION:
                taken.update(map(id, slots.values()))
                code, defaults, keywords = (slots[name] for name in sorted(_OF_A_FUNCTION))
                found.append((code[0], code[2], defaults[2], keywords[2]))
        self.slots = [slot for slot in self.slots if id(slot) not in taken]
        return found


_OF_A_FUNCTION: Final = {"__code__", "__defaults__", "__kwdefaults__"}

_SHAPE: Final = operator.attrgetter("shape")
_STOPS: Final = operator.attrgetter("stop_gradient")
_DTYPE: Final = operator.attrgetter("dtype")

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
    return lambda: all(each() for each in checks)


def _same(get: Callable[..., Any], triples: Iterable[tuple[Any, Any, Any]]) -> Check:
    """Whether each holder still gives, for its key, what it gave."""
    holders, keys, values = map(list, zip(*triples, strict=True))
    absent = [ABSENT] * len(keys)

    def check() -> bool:
        return all(map(operator.is_, map(get, holders, keys, absent), values))

    return check


def _tells(ask: Callable[[Any], Any], pairs: Iterable[tuple[Any, Any]]) -> Check:
    """Whether each thing still gives an answer that is equal to what it gave."""
    things, answers = map(list, zip(*pairs, strict=True))
    return lambda: list(map(ask, things)) == answers


def same_kinds(tensors: list[Any]) -> Check:
    """Whether tensors have the dtypes and flags that they have now; the list may get others."""
    dtypes, stops = list(map(_DTYPE, tensors)), list(map(_STOPS, tensors))
    single = all(map(operator.is_, map(_DTYPE, tensors), dtypes))  # not before Paddle 3.3
    alike = operator.is_ if single else operator.eq

    def check() -> bool:
        same = list(map(_STOPS, tensors)) == stops
        return same and all(map(alike, map(_DTYPE, tensors), dtypes))

    return check


def _same_values(tables: list[Any]) -> Check:
    """Whether dicts hold the objects that they hold now, under whatever names."""
    end = object()
    values = [*itertools.chain.from_iterable(map(dict.values, tables)), end]

    def check() -> bool:
        now = itertools.chain(itertools.chain.from_iterable(map(dict.values, tables)), (end,))
        return all(map(operator.is_, now, values))

    return check


def _same_items(triples: Iterable[tuple[Any, int, Any]]) -> Check:
    """Whether sequences still have the objects that they had at these places."""
    holders, indexes, values = map(list, zip(*triples, strict=True))

    def check() -> bool:
        try:
            return all(map(operator.is_, map(operator.getitem, holders, indexes), values))
        except IndexError:  # one of them has become shorter
            return False

    return check


def _same_cells(pairs: Iterable[tuple[Any, Any]]) -> Check:
    cells, values = map(list, zip(*pairs, strict=True))
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
