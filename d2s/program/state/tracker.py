"""State outside of the arguments: what a capture reads (rule G2) and what it changes (F3).

While a program is captured, every converted function that is called is noted.  What it names of
globals, closure cells and attributes is remembered before it runs, with the lists, dicts and
objects that can be reached from there.  Afterwards:

- what was changed is put back, and becomes a :class:`Change`: each run makes it, with its own
  tensors, as dygraph would;
- what was named becomes a guard of the program: a run finds the same Python values, structure
  and kinds of tensors there, or another program is captured.
"""

from __future__ import annotations

import array
import dis
import enum
import functools
import operator
import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import paddle

from d2s import paddle_bridge as bridge
from d2s.conversion import codes_in, reads_of
from d2s.program.keys.call_key import Identity
from d2s.program.state.opaque import Opaque
from d2s.program.state.places import (
    ABSENT,
    CONTAINERS,
    LARGE,
    NAMED,
    SCALARS,
    Place,
    Reading,
    Slot,
)
from d2s.program.state.reads import EVERY, explore
from d2s.runtime.host.text import HostText
from d2s.runtime.lists.dynamic_list import DynamicList
from d2s.runtime.values import tree
from d2s.runtime.values.choice import Choice
from d2s.runtime.values.fields import Fields, class_fields, slot_fields, slots_of
from d2s.runtime.values.objects import (
    LAYER_FIELDS,
    defines,
    dict_of,
    fields_of,
    is_library,
    is_user_class,
    is_user_object,
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
        while place is not None and type(place.scope) is tuple:
            place = place.parent
        return not self.fields and self.names is None and isinstance(place, Slot)

    def holder(self) -> Any:
        """What stands now where the scope was."""
        return self.scope if self.place is None else self.place.get()

    def now(self) -> Any:
        """A copy of its contents."""
        if isinstance(self.scope, types.CellType):
            return {"cell": Place(self.scope, "cell", self.path).get()}
        if self.names is not None:
            return {name: self.scope.get(name, ABSENT) for name in self.names}
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


_OURS: Final = str(Path(__file__).resolve().parents[2])


def _moved(before: dict[Any, Any], now: dict[Any, Any]) -> list[Any]:
    """The keys that have been taken out and put in again, in the order of ``now``."""
    usual = [*(key for key in before if key in now), *(key for key in now if key not in before)]
    keys = list(now)
    same = next(
        (at for at, pair in enumerate(zip(usual, keys, strict=True)) if pair[0] is not pair[1]),
        None,
    )
    return [] if same is None else keys[same:]


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


class Watch:
    """Notes state before the code that may change it runs; says afterwards what changed.

    Attributes:
        records: everything that is watched.
        names: names of attributes that the captured code mentions.
        asked: those of them that it can do without: it asks with ``hasattr`` or ``getattr``, or
            catches the error.
        called: the functions of the user's that were captured.
        bound: callables that hold what they are called with, and their paths.
        explored: places besides those of the records that the code may have read.
        read: tensors whose contents are constants of the program, by their ids.
        lifted: identities of places whose numbers are inputs of the program.
        filled: names of lists that the captured code only appends to, and items of dicts.
        looked_at: other names that it uses.
        appended: names of attributes that hold lists to which it only appends.
        written_only: names of attributes that it assigns and never reads.
        used: names of attributes that it does other things with.
        stored: names of attributes that the captured code assigns.
        adopt: told of each class of the user's.
        opaque: objects whose contents only Python can change.
        handed: attributes that a branch or loop may have left as they were.

    Args:
        born: objects that the captured code has made: they are no state, each run makes its own.
    """

    def __init__(self, born: dict[int, Any] | None = None) -> None:
        self._born: dict[int, Any] = {} if born is None else born
        self.records: dict[int, Record] = {}
        self.names: set[str] = set()
        self.asked: set[str] = set()
        self.called: list[Any] = []
        self.bound: list[tuple[Any, str]] = []
        self.explored: list[Place] = []
        self.read: dict[int, Any] = {}
        self.lifted: set[Any] = set()
        self.filled: set[str] = set()
        self.looked_at: set[str] = set()
        self.stored: set[str] = set()
        self.appended: set[str] = set()
        self.written_only: set[str] = set()
        self.used: set[str] = set()
        self.opaque = Opaque()
        self.adopt: Callable[[Any], None] | None = None
        self._classes: dict[int, type] = {}
        self._modules: dict[int, dict[str, Any]] = {}
        self._functions: set[int] = set()
        self._found: set[int] = set()
        self._made: set[int] = set()
        self._kept: list[Any] = []
        self.handed: set[tuple[int, str]] = set()

    # -- before ----------------------------------------------------------------------------------

    def function(self, function: Any, owner: Any = None, converted: Any = None) -> None:
        """A converted function is about to run, as a method of ``owner`` or alone.

        One that the captured code has made has no state: its cells are variables of this capture.
        """
        if owner is not None:
            self.add(owner, "self")
        if id(function) in self._functions:
            return
        self._functions.add(id(function))
        self._kept.append(function)
        self._made.update(map(id, codes_in((converted or function).__code__)))
        if id(function.__code__) in self._made and id(function) not in self._found:
            return
        reads = reads_of(function)
        self.names.update(reads.attributes)
        self.stored |= _stored(function.__code__)
        for scope in list(self._modules.values()):
            for name in set(reads.attributes) & scope.keys() | self.stored:
                self._global(scope, name)
        self.called.append(function)
        asks = reads.catches or _ASKING.intersection(function.__code__.co_names)
        self.asked.update(reads.attributes if asks else ())
        self.filled |= reads.filled - self.looked_at
        items = {path.split("[")[0] for path in reads.filled if "[" in path}
        self.looked_at |= set(reads.outside) - reads.filled - items
        self.filled -= self.looked_at
        self.filled = {path for path in self.filled if path.split("[")[0] not in self.looked_at}
        self.appended |= reads.appended
        self.written_only |= reads.stored
        self.used |= set(reads.attributes) - reads.appended - reads.stored
        self.used |= reads.appended & self.written_only | reads.stored & self.appended
        self._defaults(function)
        code = function.__code__
        cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
        for name in reads.outside:
            if name in cells:
                self._cell(cells[name], name)
            else:
                self._global(function.__globals__, name)

    def _defaults(self, function: Any) -> None:
        """The defaults of a function: what it changes in them lasts until its next call."""
        for name in ("__defaults__", "__kwdefaults__"):
            held = getattr(function, name)
            if held:
                path = f"{function.__name__}.{name}"
                self.add(held, path, Slot(function, name, path))

    def seen(self, tensor: Any) -> None:
        """What is in a tensor was read while the program was captured."""
        frame: types.FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code.co_filename.startswith(_OURS):
            frame = frame.f_back
        if frame is not None and not is_library(frame.f_code.co_filename):
            self.read[id(tensor)] = tensor

    def note(self, change: Change) -> None:
        """Watch the place of a change, whose number becomes an input."""
        place, record = change.place, change.record
        self.lifted.add(place.identity)
        scope = place.holder()
        if isinstance(scope, types.CellType):
            self._cell(scope, place.path)
        elif record.names is not None:
            self._global(scope, place.key)
        elif isinstance(record.object, type):
            self._class(record.object)
        elif isinstance(record.scope, Fields):
            self._slots(record.object, record.path, record.place)
        elif record.fields and isinstance(record.object, paddle.nn.Layer):
            self._layer(record.object, record.path)  # its buffers and sublayers, too
        elif record.fields:
            self._fields(record.object, record.path, record.place, record.owner)
        else:
            self._container(scope, record.path, record.place)

    def tell_classes(self, adopt: Callable[[Any], None] | None) -> None:
        """Tell ``adopt`` of the classes of the user's that are known, and of those to come."""
        self.adopt = adopt
        if adopt is not None:
            for kind in list(self._classes.values()):
                adopt(kind)

    def looks_into(self, record: Record) -> None:
        """The code relies on what is in a list, though it only appends to it by its text."""
        self.filled.discard(record.path)
        if record.place is not None and record.place.attribute:
            self.used.add(record.place.key)

    def only(self, names: set[str]) -> set[str]:
        """Those of ``names`` with which the code does nothing else, as far as can be seen."""
        return set() if EVERY in self.names else names - self.used

    def scopes(self) -> list[Record]:
        """What is watched now."""
        return list(self.records.values())

    def _cell(self, cell: Any, name: str) -> None:
        if id(cell) not in self.records:
            record = self.records[id(cell)] = Record(cell, name)
            record.before = record.now()
            self.add(record.before["cell"], name, Place(cell, "cell", name))

    def _global(self, scope: dict[str, Any], name: str) -> None:
        record = self.records.get(id(scope))
        if record is None:
            record = self.records[id(scope)] = Record(scope, "", names=set(), before={})
        if record.names is not None and name not in record.names:
            record.names.add(name)
            record.before[name] = scope.get(name, ABSENT)
            self.add(record.before[name], name, Place(scope, name, name))

    def add(self, thing: Any, path: str, place: Place | None = None) -> None:
        """Watch an object and what can be reached from it.

        Args:
            thing: anything.
            path: how a reader would write it.
            place: where it is kept, if another one may stand there later.
        """
        if isinstance(thing, paddle.nn.Layer):
            self._layer(thing, path)
        elif isinstance(thing, tuple):
            if len(thing) <= LARGE:
                for index, item in enumerate(thing):
                    part = f"{path}[{index}]"
                    self.add(item, part, Place(thing, index, part, place))
        elif isinstance(thing, CONTAINERS):
            self._container(thing, path, place)
            self._attributes(thing, path, place)
        elif isinstance(thing, type):
            self._class(thing)
        elif isinstance(thing, types.ModuleType):
            self._module(thing, path)
        elif isinstance(thing, types.FunctionType):
            self._found.add(id(thing))
            self._kept.append(thing)
            if vars(thing) and not is_library(thing.__code__.co_filename):
                self._fields(thing, path, place)
        elif type(thing) in _BOUND:
            self.bound.append((thing, path))
            for name in _BOUND[type(thing)]:
                part = f"{path}.{name}"
                self.add(getattr(thing, name), part, Slot(thing, name, part))
        else:
            self._attributes(thing, path, place)
            self.opaque.add(thing, path)

    def _attributes(self, thing: Any, path: str, place: Place | None) -> None:
        if slots_of(type(thing)):
            self._slots(thing, path, place)
        if is_user_object(thing):
            self._fields(thing, path, place)

    def _container(self, thing: Any, path: str, place: Place | None) -> None:
        if id(thing) in self.records or id(thing) in self._born:
            return
        record = self.records[id(thing)] = Record(thing, path, place)
        record.before = record.now()
        record.large = len(record.before) > LARGE
        if record.large:  # its items are not looked at
            return
        for key, item in entries(record.before):
            part = record.entry(key)
            self.add(item, part.path, part)

    def _fields(self, thing: Any, path: str, place: Place | None = None, owner: Any = None) -> None:
        scope = fields_of(thing)
        self._class(type(thing))
        if id(scope) in self.records or id(thing) in self._born:
            return
        record = self.records[id(scope)] = Record(scope, path, place, owner, thing, fields=True)
        record.before = record.now()
        for key, item in record.before.items():
            if owner is None or key not in LAYER_FIELDS:
                part = record.entry(key)
                self.add(item, part.path, part)

    def _slots(self, thing: Any, path: str, place: Place | None) -> None:
        scope = slot_fields(thing)
        self._class(type(thing))
        if id(scope) in self.records or id(thing) in self._born:
            return
        record = self.records[id(scope)] = Record(scope, path, place, object=thing, fields=True)
        record.before = record.now()
        for key, item in record.before.items():
            part = record.entry(key)
            self.add(item, part.path, part)

    def _class(self, kind: type) -> None:
        """The attributes of a class of the user's, and of its bases."""
        if id(kind) in self._classes or not is_user_class(kind) or issubclass(kind, enum.Enum):
            return
        self._classes[id(kind)] = kind
        if self.adopt is not None:
            self.adopt(kind)
        for base in kind.__mro__:
            scope = class_fields(base)
            if is_user_class(base) and id(scope) not in self.records:
                record = self.records[id(scope)] = Record(
                    scope, base.__name__, object=base, fields=True
                )
                record.before = record.now()
                for key, item in record.before.items():
                    part = record.entry(key)
                    self.add(item, part.path, part)

    def _module(self, module: types.ModuleType, path: str) -> None:
        """The attributes of a module of the user's that the captured code mentions."""
        file = getattr(module, "__file__", None)
        if is_library(file) if file is not None else module.__spec__ is not None:
            return
        scope = vars(module)
        if id(scope) not in self._modules:
            self._modules[id(scope)] = scope
            if id(scope) not in self.records:
                self.records[id(scope)] = Record(scope, path, names=set(), before={})
            for name in self.names & scope.keys() | self.stored:
                self._global(scope, name)

    def _layer(self, layer: Any, path: str) -> None:
        if id(layer.__dict__) in self.records or id(layer) in self._born:
            return
        for name, part in layer.named_sublayers(include_self=True):
            prefix = f"{path}.{name}" if name else path
            self._fields(part, prefix, owner=part)
            for scope in (part._buffers, part._parameters):
                if id(scope) not in self.records:
                    record = self.records[id(scope)] = Record(
                        scope, prefix, object=part, fields=True
                    )
                    record.before = record.now()
            self._sublayers(part, prefix)

    def _sublayers(self, layer: Any, path: str) -> None:
        """The layers in a layer: which they are, and no more; they are watched themselves."""
        scope = layer._sub_layers
        if id(scope) not in self.records:
            record = self.records[id(scope)] = Record(scope, path)
            record.before = record.now()

    # -- after -----------------------------------------------------------------------------------

    def holds(self, thing: Any) -> Record | None:
        """The record of a container that was there before the capture."""
        record = self.records.get(id(thing))
        return record if record is not None and record.scope is thing else None

    def record_of(self, thing: Any) -> Record | None:
        """The record of the attributes of an object that was there before the capture."""
        scopes = [dict_of(thing), slot_fields(thing) if slots_of(type(thing)) else None]
        found = (self.holds(scope) for scope in scopes if scope is not None)
        return next((record for record in found if record is not None), None)

    def changed(self) -> list[Change]:
        """Everything that is not as it was before."""
        found: list[Change] = []
        for record in self.records.values():
            now, before = record.now(), record.before
            if isinstance(now, dict):
                for key in [*now, *(key for key in before if key not in now)]:
                    value, old = now.get(key, ABSENT), before.get(key, ABSENT)
                    if value is not old and (is_symbol(value) or not record.library):
                        found.append(Change(record, key, value, old))
                moved = [] if record.names is not None or record.fields else _moved(before, now)
                if moved:
                    found.append(Reordered(record, None, moved))
            elif len(now) != len(before) or any(
                one is not other for one, other in zip(now, before, strict=True)
            ):
                found.append(Change(record, None, now, before))
        return found

    def undo(self) -> None:
        """Put everything back."""
        for record in self.records.values():
            record.restore()

    def places_of(self, tensors: list[Any]) -> list[tuple[int, Place]]:
        """Every place where one of ``tensors`` is kept, with its index; after :meth:`undo`."""
        wanted = {id(tensor): index for index, tensor in enumerate(tensors)}
        found: list[tuple[int, Place]] = []
        for record in self.records.values():
            for key, value in entries(record.before):
                index = wanted.get(id(value))
                if index is not None:
                    found.append((index, record.entry(key)))
                elif type(value) is tuple:
                    found.extend(_inside(record.entry(key), value, wanted))
        self.explored = self.explored or explore(self)
        for place in self.explored:
            index = wanted.get(id(place.get()))
            if index is not None:
                found.append((index, place))
        return sorted(found, key=lambda item: item[0])

    def guards(self, changes: list[Change], tensors: list[Any]) -> list[Guard]:
        """What must be as it was for the program to be used again; call it after :meth:`undo`.

        Args:
            changes: what the capture has changed.
            tensors: those that the program reads, which :meth:`places_of` has.
        """
        written = {change.place.identity for change in changes if not change.whole}
        given = self._given(changes)
        places = self.explored = explore(self)
        maker = _Guards(self, written, {id(tensor) for tensor in tensors})
        for record in list(self.records.values()):
            if record.names is not None or isinstance(record.scope, types.CellType):
                for key in record.before:
                    maker.value(record.entry(key))
            elif record.fields:
                for key in record.before.keys() & self.names:
                    if (id(record.scope), key) not in given:
                        maker.value(record.entry(key))
                if EVERY in self.names:
                    for key in record.before:
                        maker.value(record.entry(key))
                if record.library:
                    for key, value in record.before.items():
                        if not key.startswith("_") and isinstance(value, SCALARS):
                            maker.value(record.entry(key))
                for key in self.names - record.before.keys():
                    known = record.entry(key).identity in written
                    if known and (id(record.scope), key) not in given:
                        maker.value(record.entry(key))
        for place in [*places, *(Reading(t, _numbers, t.name) for t in self.read.values())]:
            maker.value(place)
        return maker.found

    def _given(self, changes: list[Change]) -> set[tuple[int, str]]:
        """Attributes that get a new value on each run, whatever they held: nobody relies on that.

        The code only assigns them, or they were not there, and it would have failed without them.
        """
        only = self.only(self.written_only)
        found: set[tuple[int, str]] = set()
        for change in changes:
            record, name = change.record, change.key
            if change.whole or not record.fields or record.names is not None:
                continue
            kind = type(record.object)
            needed = change.before is ABSENT and not (
                name in self.asked
                or EVERY in self.names
                or hasattr(kind, name)
                or defines(kind, "__getattr__")
            )
            surely = change.value is not ABSENT and (id(record.object), name) not in self.handed
            if (name in only or needed) and surely and not isinstance(record.object, type):
                found.add((id(record.scope), name))
        return found


_BOUND: Final[dict[type, tuple[str, ...]]] = {
    functools.partial: ("func", "args", "keywords"),
    types.MethodType: ("__func__", "__self__"),
    types.BuiltinMethodType: ("__self__",),
    types.MethodWrapperType: ("__self__",),
}
"""Callables that hold what they are called with, and under which names."""

_ASKING: Final = frozenset(("hasattr", "getattr", "AttributeError", "Exception"))


def _stored(code: types.CodeType) -> set[str]:
    """Names of attributes that ``code`` assigns, or a function in it."""
    found = {
        step.argval
        for step in dis.get_instructions(code)
        if step.opname in ("STORE_ATTR", "DELETE_ATTR")
    }
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= _stored(constant)
    return found


def entries(held: Any) -> Iterator[tuple[Any, Any]]:
    """Keys (or indexes) and values of what :meth:`Record.now` gives."""
    return iter(held.items()) if isinstance(held, dict) else enumerate(held)


def _inside(place: Place, value: Any, wanted: dict[int, int]) -> Iterator[tuple[int, Place]]:
    for index, item in enumerate(value):
        part = Place(value, index, f"{place.path}[{index}]", place)
        if type(item) is tuple:
            yield from _inside(part, item, wanted)
        elif id(item) in wanted:
            yield wanted[id(item)], part


# -- guards --------------------------------------------------------------------------------------


@dataclass
class Guard:
    """Something that a program relies on.

    Attributes:
        place: where.
        test: tells of what is there now.
        expected: what it must tell.
        value: what was there, for a scalar.
    """

    place: Place
    test: Callable[[Any], Any]
    expected: Any
    value: Any = field(default=ABSENT)

    def holds(self) -> bool:
        """Whether it is so."""
        now = self.place.get()
        if now is self.value and now is not ABSENT:
            return True
        return bool(self.test(now) == self.expected)


def is_plain(guard: Guard) -> bool:
    """Whether the guard holds for certain while the same object, of this length, stands there."""
    if guard.test is Identity or guard.test is _constant:
        return True
    return guard.test is form


def scalar(value: Any) -> Any:
    """A Python value and its type; zeros by their sign, all that are not numbers alike."""
    if type(value) is float:
        return (float, repr(value))
    return (type(value), value) if isinstance(value, SCALARS) else (type(value), None)


def kind_of_tensor(value: Any) -> Any:
    """What a program depends on of a tensor."""
    if not bridge.is_eager(value):
        return None
    return (str(value.dtype), tuple(value.shape), bool(value.stop_gradient))


_BUFFERS: Final = (bytearray, array.array)


def _contents(value: Any) -> Any:
    """What is in an array now, as something that can be compared and stays as it is."""
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            return (value.shape, tuple(map(id, value.flat)))
        return (value.dtype, value.shape, value.tobytes())
    return (type(value), bytes(value)) if isinstance(value, _BUFFERS) else None


def _numbers(tensor: Any) -> Any:
    """The contents of a tensor, as an array that stays as it is."""
    return np.array(tensor.numpy())


def form(value: Any) -> Any:
    """The type and length of a container, the keys of a dict."""
    if isinstance(value, dict):
        return (type(value), tuple(value))
    return (type(value), len(value)) if isinstance(value, (*CONTAINERS, tuple)) else None


def modes(value: Any) -> Any:
    """The layers below a layer, and whether each is in train mode."""
    if not isinstance(value, paddle.nn.Layer):
        return None
    return [(id(layer), layer.training) for layer in value.sublayers(include_self=True)]


def same_constant_now(value: Any) -> Any:
    """The test of a guard on a constant that something tells."""
    return value


def _constant(value: Any) -> Any:
    if type(value) is tuple:
        return tuple(_constant(item) for item in value)
    return scalar(value)


def _is_constant(value: Any) -> bool:
    if type(value) is tuple:
        return all(map(_is_constant, value))
    return isinstance(value, SCALARS)


class _Guards:
    """Makes guards of places."""

    def __init__(self, watch: Watch, written: set[Any], tensors: set[int]) -> None:
        self.watch = watch
        self.written = written
        self.tensors = tensors
        self.found: list[Guard] = []
        self.seen: set[Any] = set()
        self.known: dict[int, Place] = {}

    def value(self, place: Place) -> None:
        """Guard what is at ``place``."""
        identity, way = place.identity, place.way
        if way in self.seen:
            return
        self.seen.add(way)
        value = place.get()
        if identity in self.watch.lifted:
            self.found.append(Guard(place, type, type(value)))
        elif value is ABSENT or _is_constant(value):
            kept = value if isinstance(value, SCALARS) else ABSENT
            self.found.append(Guard(place, _constant, _constant(value), kept))
        elif bridge.is_eager(value):
            if id(value) in self.watch.read:
                self.found.append(Guard(place, Identity, Identity(value), value))
            elif id(value) not in self.tensors:
                self.found.append(Guard(place, kind_of_tensor, kind_of_tensor(value)))
        elif isinstance(value, (np.ndarray, *_BUFFERS)):
            self.found.append(Guard(place, _contents, _contents(value)))
        elif isinstance(value, (*CONTAINERS, tuple)):
            self._container(place, value)
        elif isinstance(value, paddle.nn.Layer):
            self.watch._kept.append(value)
            self.found.append(Guard(place, modes, modes(value)))
        elif identity in self.written:
            self.found.append(Guard(place, type, type(value)))
        else:
            self.found.append(Guard(place, Identity, Identity(value), value))

    def _container(self, place: Place, value: Any) -> None:
        watch = self.watch
        appended = place.attribute and place.key in watch.only(watch.appended)
        if type(value) is list and (appended or place.path in watch.filled):
            self.found.append(Guard(place, Identity, Identity(value), value))
            return
        if len(value) > NAMED and (len(value) > LARGE or not _nested(value)):
            self.found.append(Guard(place, _shallow(value), True))
            return
        self.found.append(Guard(place, form, form(value)))
        first = self.known.setdefault(id(value), place)
        if first is not place:  # known under two names: both must go on to mean one object
            self.found.append(Guard(place, lambda now: now is first.get(), True))
            return
        if isinstance(value, set):
            self.found.append(Guard(place, _members, _members(value)))
            return
        for key, _ in entries(value if isinstance(value, dict) else list(value)):
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


def _members(value: Any) -> Any:
    return {scalar(item) for item in value} if isinstance(value, set) else None
