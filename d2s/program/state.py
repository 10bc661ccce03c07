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

import collections
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import paddle

from d2s import paddle_bridge as bridge
from d2s.conversion import reads_of
from d2s.operators.effects import HostText
from d2s.operators.either import UNBOUND, Either
from d2s.operators.lists import GrowingList
from d2s.operators.objects import LAYER_FIELDS, is_user_class, is_user_object
from d2s.program.signature import Identity

SCALARS: Final = (bool, int, float, str, bytes, type(None))

LARGE: Final = 1000
"""A list or dict with more items is taken as one object: its items are not looked at."""

NAMED: Final = 64
"""A list or dict that a function names is guarded item by item up to this length."""

CONTAINERS: Final = (dict, list, set, collections.deque)

ABSENT: Final = UNBOUND
"""Stands for an entry that is not there."""


class Place:
    """Where a value is kept: an entry of a dict or list, an attribute, or a closure cell.

    Args:
        scope: globals, an object's attributes, a layer's buffers, a user's dict or list; or the
            cell.
        key: the name or index in it.
        path: how a reader would write it, for messages.
        parent: where the scope itself is kept, if another one may stand there later.
        owner: the layer whose attributes the scope holds.
    """

    __slots__ = ("key", "owner", "parent", "path", "scope")

    def __init__(
        self, scope: Any, key: Any, path: str, parent: Place | None = None, owner: Any = None
    ) -> None:
        self.scope = scope
        self.key = key
        self.path = path
        self.parent = parent
        self.owner = owner

    def holder(self) -> Any:
        """What holds the value now."""
        if self.parent is None:
            return self.scope
        found = self.parent.get()
        if isinstance(found, (*CONTAINERS, tuple)):
            return found
        return getattr(found, "__dict__", None)

    def get(self) -> Any:
        """What is there now; ``ABSENT`` if nothing is."""
        scope = self.holder()
        if isinstance(scope, dict):
            return scope.get(self.key, ABSENT)
        if isinstance(scope, types.CellType):
            try:
                return scope.cell_contents
            except ValueError:
                return ABSENT
        if isinstance(scope, list | tuple | collections.deque) and type(self.key) is int:
            return scope[self.key] if self.key < len(scope) else ABSENT
        return ABSENT

    def set(self, value: Any) -> None:
        """Bind it; unbind it with ``ABSENT``."""
        scope = self.holder()
        if isinstance(scope, types.CellType):
            if value is not ABSENT:
                scope.cell_contents = value
            elif self.get() is not ABSENT:
                del scope.cell_contents
        elif value is ABSENT:
            if isinstance(scope, dict):
                scope.pop(self.key, None)
        elif self.owner is not None:
            paddle.nn.Layer.__setattr__(self.owner, self.key, value)
        elif scope is not None:
            scope[self.key] = value

    def put(self, value: Any) -> None:
        """Bind it as it is, whoever owns it."""
        scope = self.holder()
        if isinstance(scope, types.CellType):
            scope.cell_contents = value
        else:
            scope[self.key] = value

    @property
    def identity(self) -> tuple[Any, Any]:
        """Equal for two places that are one."""
        return (id(self.scope) if self.parent is None else self.parent.identity), self.key


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
    """

    scope: Any
    path: str
    place: Place | None = None
    owner: Any = None
    object: Any = None
    names: set[Any] | None = None
    fields: bool = False
    before: Any = None

    def entry(self, key: Any) -> Place:
        """The place of one of its entries."""
        if self.fields:
            path = f"{self.path}.{key}"
        elif isinstance(self.scope, types.CellType):
            path = self.path
        elif self.names is not None:
            path = str(key)
        else:
            path = f"{self.path}[{key!r}]"
        return Place(self.scope, key, path, self.place, self.owner)

    @property
    def library(self) -> bool:
        """Whether these are the fields of a layer whose class is a library's.

        Python values that the library keeps there are its own business.
        """
        return self.owner is not None and not is_user_class(type(self.owner))

    def now(self) -> Any:
        """A copy of its contents."""
        if isinstance(self.scope, types.CellType):
            return {"cell": Place(self.scope, "cell", self.path).get()}
        if self.names is not None:
            return {name: self.scope.get(name, ABSENT) for name in self.names}
        return dict(self.scope) if isinstance(self.scope, dict) else list(self.scope)

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
            if self.names is None and list(self.scope) != list(self.before):
                self.scope.clear()
                self.scope.update(self.before)
                return
            for key, value in self.before.items():
                if value is ABSENT:
                    self.scope.pop(key, None)
                elif self.scope.get(key, ABSENT) is not value:
                    self.scope[key] = value
        else:
            refill(self.scope, self.before)


def is_symbol(thing: Any) -> bool:
    """Whether ``thing`` is something of a program, not of a run."""
    return bridge.is_value(thing) or isinstance(thing, Either | HostText | GrowingList)


def refill(container: Any, items: Any) -> None:
    """Give a list, set, deque or dict other contents; the object stays the same."""
    if isinstance(container, list):
        container[:] = items
        return
    container.clear()
    if isinstance(container, collections.deque):
        container.extend(items)
    else:
        container.update(items)


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

    def make(self, value: Any) -> None:
        """Do it on a run, with the value of that run."""
        if not self.whole:
            self.place.set(value)
            return
        target = self.record.scope if self.record.place is None else self.record.place.get()
        if isinstance(target, list) and self.added:
            target.extend(value)
        elif isinstance(target, CONTAINERS):
            refill(target, value)

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


class Watch:
    """Notes state before the code that may change it runs; says afterwards what changed.

    Attributes:
        records: everything that is watched.
        names: names of attributes that the captured code mentions.
        lifted: identities of places whose numbers are inputs of the program.
        filled: names of lists that the captured code only appends to.
        looked_at: other names that it uses.
    """

    def __init__(self) -> None:
        self.records: dict[int, Record] = {}
        self.names: set[str] = set()
        self.lifted: set[Any] = set()
        self.filled: set[str] = set()
        self.looked_at: set[str] = set()
        self._functions: set[int] = set()
        self._kept: list[Any] = []

    # -- before ----------------------------------------------------------------------------------

    def function(self, function: Any, owner: Any = None) -> None:
        """A converted function is about to run, as a method of ``owner`` or alone."""
        if owner is not None:
            self.add(owner, "self")
        if id(function) in self._functions:
            return
        self._functions.add(id(function))
        self._kept.append(function)
        reads = reads_of(function)
        self.names.update(reads.attributes)
        self.filled |= reads.filled - self.looked_at
        self.looked_at |= set(reads.outside) - reads.filled
        self.filled -= self.looked_at
        code = function.__code__
        cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
        for name in reads.outside:
            if name in cells:
                self._cell(cells[name], name)
            else:
                self._global(function.__globals__, name)

    def note(self, change: Change) -> None:
        """Watch the place of a change, whose number becomes an input."""
        place, record = change.place, change.record
        self.lifted.add(place.identity)
        scope = place.holder()
        if isinstance(scope, types.CellType):
            self._cell(scope, place.path)
        elif record.names is not None:
            self._global(scope, place.key)
        elif record.fields:
            self._fields(record.object, record.path, record.place, record.owner)
        else:
            self._container(scope, record.path, record.place)

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
        elif is_user_object(thing):
            self._fields(thing, path, place)

    def _container(self, thing: Any, path: str, place: Place | None) -> None:
        if id(thing) in self.records or len(thing) > LARGE:
            return
        record = self.records[id(thing)] = Record(thing, path, place)
        record.before = record.now()
        for key, item in entries(record.before):
            part = record.entry(key)
            self.add(item, part.path, part)

    def _fields(self, thing: Any, path: str, place: Place | None = None, owner: Any = None) -> None:
        scope = thing.__dict__
        if id(scope) in self.records:
            return
        record = self.records[id(scope)] = Record(scope, path, place, owner, thing, fields=True)
        record.before = record.now()
        for key, item in record.before.items():
            if owner is None or key not in LAYER_FIELDS:
                part = record.entry(key)
                self.add(item, part.path, part)

    def _layer(self, layer: Any, path: str) -> None:
        if id(layer.__dict__) in self.records:
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

    # -- after -----------------------------------------------------------------------------------

    def holds(self, thing: Any) -> Record | None:
        """The record of a container that was there before the capture."""
        record = self.records.get(id(thing))
        return record if record is not None and record.scope is thing else None

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
        """Every place where one of ``tensors`` is kept, with its index."""
        wanted = {id(tensor): index for index, tensor in enumerate(tensors)}
        found: list[tuple[int, Place]] = []
        for record in self.records.values():
            for key, value in entries(record.before):
                index = wanted.get(id(value))
                if index is not None:
                    found.append((index, record.entry(key)))
                elif type(value) is tuple:
                    found.extend(_inside(record.entry(key), value, wanted))
        return sorted(found, key=lambda item: item[0])

    def guards(self, changes: list[Change], tensors: list[Any]) -> list[Guard]:
        """What must be as it was for the program to be used again; call it after :meth:`undo`.

        Args:
            changes: what the capture has changed.
            tensors: those that the program reads, which :meth:`places_of` has.
        """
        written = {change.place.identity for change in changes if not change.whole}
        maker = _Guards(self, written, {id(tensor) for tensor in tensors})
        for record in list(self.records.values()):
            if record.names is not None or isinstance(record.scope, types.CellType):
                for key in record.before:
                    maker.value(record.entry(key))
            elif record.fields:
                for key in record.before.keys() & self.names:
                    maker.value(record.entry(key))
                if record.library:
                    for key, value in record.before.items():
                        if not key.startswith("_") and isinstance(value, SCALARS):
                            maker.value(record.entry(key))
                for key in self.names - record.before.keys():
                    if record.entry(key).identity in written:
                        maker.value(record.entry(key))
        return maker.found


def entries(contents: Any) -> Iterator[tuple[Any, Any]]:
    """Keys (or indexes) and values of what :meth:`Record.now` gives."""
    return iter(contents.items()) if isinstance(contents, dict) else enumerate(contents)


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
        identity = place.identity
        if identity in self.seen:
            return
        self.seen.add(identity)
        value = place.get()
        if identity in self.watch.lifted:
            self.found.append(Guard(place, type, type(value)))
        elif value is ABSENT or _is_constant(value):
            kept = value if isinstance(value, SCALARS) else ABSENT
            self.found.append(Guard(place, _constant, _constant(value), kept))
        elif bridge.is_eager(value):
            if id(value) not in self.tensors:
                self.found.append(Guard(place, kind_of_tensor, kind_of_tensor(value)))
        elif isinstance(value, types.ModuleType):
            return
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
        if type(value) is list and place.path in self.watch.filled:
            self.found.append(Guard(place, Identity, Identity(value), value))
            return
        if len(value) > NAMED:
            self.found.append(Guard(place, Identity, Identity(value)))
            self.found.append(Guard(place, form, form(value)))
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


def _members(value: Any) -> Any:
    return {scalar(item) for item in value} if isinstance(value, set) else None
