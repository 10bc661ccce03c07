"""The state that a branch or loop body shares with the code around it, read and written by name.

A body may also change what it does not name.  What can be reached from its variables, and what is
watched of the state outside, is compared with how it was; what has changed joins the state then.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable
from typing import Any

from d2s import paddle_bridge as bridge
from d2s.runtime.aliasing.reach import Loose, Reach, Scope, is_container
from d2s.runtime.aliasing.slots import (
    Attribute,
    Cell,
    Elsewhere,
    Global,
    Missing,
    Slot,
    slot_key,
)
from d2s.runtime.aliasing.snapshots import Frozen, freeze, frozen, same_items, thaw, with_form
from d2s.runtime.trace import current
from d2s.runtime.values.cases import as_it_is_now
from d2s.runtime.values.choice import Choice
from d2s.runtime.values.fields import is_computed
from d2s.runtime.values.unbound import UNBOUND


def _variables_of(
    functions: tuple[Callable[..., Any] | None, ...],
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The cells of some functions by the names of their variables, and their globals.

    Lists of the run count that variables of one name hold, as functions of ours have them.
    """
    cells: dict[str, Any] = {}
    scope: dict[str, Any] = {}
    found: list[Any] = []
    for function in filter(None, functions):
        scope = function.__globals__
        closure = function.__closure__ or ()
        cells.update(zip(function.__code__.co_freevars, closure, strict=True))
        found += (cell for cell in closure if hasattr(type(Cell(cell).get()), "d2s_freeze"))
    hidden = (cell for cell in found if not any(cell is each for each in cells.values()))
    return {**cells, **{f"alternative {at}": cell for at, cell in enumerate(hidden)}}, scope


class WithClosure:
    """A function that runs ``run``, and has the closure of ``body``: the state is found by it.

    Attributes:
        held: the items that ``run`` goes over; what they hold is state, too.
    """

    def __init__(
        self, body: Callable[..., object], run: Callable[..., object], held: Iterable[object] = ()
    ) -> None:
        self.held = tuple(held)
        self.__code__ = body.__code__
        self.__closure__ = body.__closure__
        self.__globals__ = body.__globals__
        self.run = run

    def __call__(self, *item: object) -> Any:
        return self.run(*item)


class State:
    """The slots of some body functions: those of ``names``, then containers that they can reach.

    Attributes:
        repeats: the functions may be captured once more, from the state as it was.
        began: containers, by their ids, and what a branch has begun with in the place of each.
    """

    def __init__(self, names: tuple[str, ...], *functions: Callable[..., Any] | None) -> None:
        self.names = names
        self.repeats = False
        self.began: dict[int, tuple[Any, Any]] = {}
        self._made_of = names, functions
        self._added: list[tuple[str, Slot]] = []
        cells, scope = _variables_of(functions)
        self.slots = [self._slot(name, cells, scope) for name in names]
        for name, cell in cells.items():  # what a helper may change through another name
            if name not in names and is_container(Cell(cell).get()):
                self.names = (*self.names, name)
                self.slots.append(Cell(cell))
        reach = Reach()
        for name, cell in cells.items():
            reach.add(name, Cell(cell).get())
        for function in functions:
            reach.hold(function)
        capture = current()
        for tried in () if capture is None else capture.attempts:
            for function in tried.others:
                reach.add("a context manager", function)
        self._watched = list if capture is None else capture.watched
        self._scopes = {key: scope.note() for key, scope in reach.found().items()}
        if capture is not None and capture.tables:
            self._scopes[id(capture.tables)] = Scope(capture.tables, "objects").note()
        for fields in () if capture is None else capture.counts.values():
            if id(fields) not in self._scopes:
                self._scopes[id(fields)] = Scope(fields, "count", fields.owner).note()
        for record in self._watched():
            self._watch(record)
        self._known = {slot_key(slot) for slot in self.slots}
        self._bases: list[Any] = []
        self._scratch = [
            (name, Cell(cell), Cell(cell).get())
            for name, cell in cells.items()
            if name not in self.names and id(cell) not in self._scopes
        ]

    @property
    def functions(self) -> tuple[Callable[..., Any] | None, ...]:
        """The body functions."""
        return self._made_of[1]

    def add(self, name: str, slot: Slot) -> None:
        """Let something join the state that no function knows by a name."""
        self.names = (*self.names, name)
        self.slots.append(slot)
        self._added.append((name, slot))

    def anew(self) -> State:
        """The state of the same functions, from the present place on."""
        names, functions = self._made_of
        for function in filter(None, functions):
            for cell in map(Cell, function.__closure__ or ()):
                cell.set(as_it_is_now(cell.get()))
        made = State(names, *functions)
        for name, slot in self._added:
            made.add(name, slot)
        return made

    @staticmethod
    def _slot(path: str, cells: dict[str, Any], scope: dict[str, Any]) -> Slot:
        root, *rest = path.split(".")
        slot: Slot = Cell(cells[root]) if root in cells else Global(scope, root)
        for name in rest:
            owner = slot.get()
            if owner is UNBOUND or owner is None or isinstance(owner, Choice):
                return Missing()
            if hasattr(type(owner), "d2s_kind"):
                return Missing()  # its attributes are in a table, which is state by itself
            if is_computed(type(owner), name):
                return Missing()  # its setter assigns other attributes, which are found by find
            slot = Attribute(owner, name)
        return slot

    def _watch(self, record: Any, *, late: bool = False) -> None:
        """Compare something that is watched of the state outside, too.

        Args:
            record: it.
            late: the body may have changed it already.
        """
        if id(record.scope) in self._scopes:
            return
        scope: Scope
        if record.loose:
            scope = Loose(record.scope, record.path)
        elif not (
            record.fields or record.names is not None or isinstance(record.scope, types.CellType)
        ):
            return
        else:
            scope = Scope(record.scope, record.path, record.object, record.names)
        self._scopes[id(record.scope)] = scope.note()
        if late and record.loose:
            scope.base[record.path] = frozen(record.scope, record.before)
        elif late:
            scope.base.update({name: freeze(value) for name, value in record.before.items()})

    def find(self) -> None:
        """Let what has changed without being named join the state."""
        for record in self._watched():
            self._watch(record, late=True)
            if record.names is not None:  # it may have got more names since
                base = self._scopes[id(record.scope)].base
                for name in sorted(record.names - base.keys()):
                    base[name] = freeze(record.before[name])
        for scope in self._scopes.values():
            for name in {**scope.base, **dict.fromkeys(scope.keys())}:
                base, held = scope.base.get(name, UNBOUND), scope.get(name)
                if held is base:  # which is no snapshot, but what has nothing to change
                    continue
                slot = scope.slot(name)
                if slot_key(slot) in self._known or same_items(base, freeze(held)):
                    continue
                self._known.add(slot_key(slot))
                self.names = (*self.names, scope.path_of(name))
                self.slots.append(slot)
                if base is UNBOUND and isinstance(slot, Attribute):
                    base = slot.of_class()
                self._bases.append(base)

    def find_holder(self, container: object) -> None:
        """Let what holds ``container``, which the body is about to change, join the state."""
        for scope in self._scopes.values():
            for name in scope.base:
                slot = scope.slot(name)
                if slot.get() is container and slot_key(slot) not in self._known:
                    self._known.add(slot_key(slot))
                    self.join_slot(scope.path_of(name), slot)

    def join(
        self,
        path: str,
        holder: Any,
        *,
        unchanged: bool = False,
        root: object = None,
        form: object = None,
    ) -> None:
        """Let what ``holder`` holds join the state; the body is about to bind it.

        Args:
            path: how it is called.
            holder: it.
            unchanged: the body does not bind it by itself.
            root, form: a container, and what it has become by now, which it holds.
        """
        table, key = holder.place
        if table in self._scopes and key in self._scopes[table].base:
            slot = self._scopes[table].slot(key)
            if unchanged and slot_key(slot) not in self._known:
                self._known.add(slot_key(slot))
                self.join_slot(path, slot)
            return  # else :meth:`find` will see it
        joined = (slot.holder for slot in self.slots if isinstance(slot, Elsewhere))
        if any(each.place == holder.place for each in joined):
            return
        slot = Elsewhere(holder)
        held = self._began_as(slot.get())
        self._scratch = [each for each in self._scratch if each[0] != path or each[2] is not held]
        if id(root) in self.began:
            held = with_form(held, form, self.began[id(root)][1])
        self.join_slot(path, slot, freeze(held))

    def _began_as(self, held: object) -> object:
        """What stood for ``held`` when the body began: a loop in it has a variable of its own."""
        capture = current()
        assert capture is not None
        for block in reversed(capture.blocks):
            if block.state is self:
                break
            pairs = zip(block.before, block.given, strict=False)
            held = next((was for was, now in pairs if now is held), held)
        return held

    def join_slot(self, path: str, slot: Slot, base: object = UNBOUND) -> None:
        """Let what ``slot`` has join the state; the body, which began with ``base``, changes it."""
        self.names = (*self.names, path)
        self.slots.append(slot)
        self._bases.append(freeze(slot.get()) if base is UNBOUND else base)

    def padded(self, values: list[Any]) -> list[Any]:
        """Values, with how those were that have joined the state since."""
        missing = len(self.slots) - len(values)
        return [*values, *(self._bases[len(self._bases) - missing :] if missing else ())]

    def base(self, slot: Slot) -> Any:
        """What a slot had, that has joined the state, when it did."""
        named = len(self.slots) - len(self._bases)
        return next(b for s, b in zip(self.slots[named:], self._bases, strict=True) if s is slot)

    def _note_handed(self) -> None:
        capture = current()
        if capture is not None:
            named = len(self.slots) - len(self._bases)
            capture.handed |= {
                (id(slot.owner), slot.name)
                for at, slot in enumerate(self.slots)
                if isinstance(slot, Attribute)
                and not (at >= named and self._is_new(slot, self._bases[at - named]))
            }

    def _is_new(self, slot: Attribute, base: object) -> bool:
        """Whether the body began with something that the code has put there, on every path."""
        held = base.container if isinstance(base, Frozen) else base
        if not bridge.is_value(held) and type(held) not in (str, int, float, bool, list):
            return False
        before = [
            record.before[slot.name]
            for record in self._watched()
            if record.fields and record.object is slot.owner and slot.name in record.before
        ]
        return bool(before) and all(each is not held for each in before)

    def read(self) -> list[Any]:
        """The values as they are now."""
        return [slot.get() for slot in self.slots]

    def freeze(self) -> list[Any]:
        """Snapshots of the values."""
        self.find()
        self._note_handed()
        return [freeze(slot.get()) for slot in self.slots]

    def write(self, values: list[Any]) -> None:
        """Bind the values."""
        for slot, value in zip(self.slots, values, strict=True):
            if slot.get() is not value:
                slot.set(value)

    def thaw(self, snapshots: list[Any], *, lasting: bool = True) -> None:
        """Go back to snapshots, contents of containers included; without ``lasting``, not all."""
        pairs = zip(self.slots, self.padded(snapshots), strict=True)
        self.write([thaw(was) if lasting or not slot.lasts else slot.get() for slot, was in pairs])
        self.forget_scratch()

    def without_scratch(self) -> State:
        """The same, for a body that goes on after a snapshot was taken: it keeps its variables."""
        self._scratch = []
        return self

    def forget_scratch(self) -> None:
        """Put back the variables that a body uses for itself and nobody reads afterwards."""
        for _, slot, value in self._scratch:
            if slot.get() is not value:
                slot.set(value)
