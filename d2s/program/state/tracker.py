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

import enum
import functools
import sys
import types
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, Final

import paddle

from d2s.analysis.reads import Reads
from d2s.conversion import codes_in, reads_of
from d2s.errors import UnsupportedInGraphError
from d2s.program.state.lifted import Lifted
from d2s.program.state.opaque import Opaque
from d2s.program.state.places import (
    ABSENT,
    CONTAINERS,
    EVERY,
    LARGE,
    PLAIN,
    Place,
    Slot,
)
from d2s.program.state.probes import BUFFERING, WHOLE, Probes, stored_by
from d2s.program.state.records import Change, Given, Record, Reordered, entries, is_symbol, moved
from d2s.runtime.calls.call import Factories
from d2s.runtime.values.fields import Fields, class_fields, is_count_class, slot_fields, slots_of
from d2s.runtime.values.objects import (
    HEAP_TYPE,
    LAYER_FIELDS,
    dict_of,
    fields_of,
    is_library,
    is_librarys_data,
    is_user_class,
    is_user_object,
)
from d2s.runtime.values.tensors import is_array

_OURS: Final = str(Path(__file__).resolve().parents[2])


class Watch:
    """Notes state before the code that may change it runs; says afterwards what changed.

    Attributes:
        records: everything that is watched.
        names: names of attributes that the captured code mentions.
        native: those of them that code mentions which runs as it is, or reads without a probe.
        probes: of attributes that it assigns, whether it reads what they held before.
        whole: classes of objects of which it may read any attribute.
        said: of what reads many attributes at once, what the code names.
        tabled: names of attributes for which the code looks into the dictionary of an object.
        asked: those of them that it can do without: it asks with ``hasattr`` or ``getattr``, or
            catches the error.
        called: the functions of the user's that were captured.
        bound: callables that hold what they are called with, and their paths.
        explored: places besides those of the records that the code may have read.
        read, lifted: tensors whose contents are constants, by ids; inputs, by places' identities.
        filled, looked_at: names of lists that it only appends to, and items of dicts; others.
        appended, written_only: names of attributes that hold lists to which it only appends; that
            it assigns and never reads.
        used, stored: those with which it does other things; that the captured code assigns.
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
        self.native: set[str] = set()
        self.probes = Probes()
        self.whole: set[type] = set()
        self.said: set[str] = set()
        self.tabled: set[str] = set()
        self.asked: set[str] = set()
        self.called: list[Any] = []
        self.bound: list[tuple[Any, str]] = []
        self.explored: list[Place] = []
        self.read: dict[int, Any] = {}
        self.lifted: dict[Any, Lifted] = {}
        self.filled: set[str] = set()
        self.looked_at: set[str] = set()
        self.stored: set[str] = set()
        self.appended: set[str] = set()
        self.written_only: set[str] = set()
        self.used: set[str] = set()
        self.opaque = Opaque()
        self._factories = Factories()
        self.adopt: Callable[[Any], None] | None = None
        self._classes: dict[int, type] = {}
        self._modules: dict[int, tuple[dict[str, Any], bool]] = {}
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
        if owner is not None and id(owner) not in self._born:
            self.add(owner, "self")
        reads = reads_of(function)
        kind = object if owner is None or isinstance(owner, type) else type(owner)
        if reads.own and kind is not object:
            self.whole.add(kind)
        elif reads.own:
            self.names.add(EVERY)
        self.probes.open(reads.tables, kind)
        if id(function) in self._functions:
            return
        self._functions.add(id(function))
        self.keep((function, converted))
        self._made.update(map(id, codes_in((converted or function).__code__)))
        if id(function.__code__) in self._made and id(function) not in self._found:
            return
        stored = stored_by(function.__code__)
        new = set(reads.attributes) - self.names
        self.probes.watch(self.records.values(), stored - self.names, new)
        self.names.update(reads.attributes)
        self.stored |= stored
        self.says(reads)
        for scope, whole in list(self._modules.values()):
            for name in self._named(scope, set(reads.attributes), whole=whole):
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
        if len(self.called) > 1:  # those of the function that is captured are arguments
            self._defaults(function)
        code = function.__code__
        cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
        mentioned = {name for each in (code, *codes_in(code)) for name in each.co_names}
        for name in reads.outside:
            if name in cells:
                self._cell(cells[name], name)
            elif name in mentioned:  # no variable of a comprehension, lambda or function in it
                self._global(function.__globals__, name)
        if reads.own or EVERY in reads.attributes:
            self.probes.watch_all(self.records.values())

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

    def note(self, lifted: Lifted) -> None:
        """Watch a place whose contents become an input."""
        place, record = lifted.place, lifted.change.record
        self.lifted[place.identity] = lifted
        if isinstance(lifted.change, Given):  # watched when the code takes an item
            return
        scope = place.holder()
        owner = record.object if record.place is None else record.place.get()  # it may be another
        if isinstance(scope, types.CellType):
            self._cell(scope, place.path)
        elif record.names is not None:
            self._global(scope, place.key)
        elif isinstance(record.object, type):
            self._class(record.object)
        elif isinstance(record.scope, Fields):
            self.slots(owner, record.path, record.place)
        elif record.fields and isinstance(owner, paddle.nn.Layer):
            self._layer(owner, record.path)  # its buffers and sublayers, too
        elif record.fields:
            self._fields(owner, record.path, record.place, record.owner)
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

    def only(self, names: set[str], thing: object) -> set[str]:
        """Those attributes of ``thing`` with which the code does nothing else that can be seen.

        Args:
            names: of these.
            thing: an object.
        """
        return set() if self.reads_all(thing) else names - self.used

    def only_assigned(self, record: Record, name: str) -> bool:
        """Whether the code assigns an attribute and never reads what it held before."""
        if self.probes.is_copied(record.object):
            return False
        if name in self.only(self.written_only, record.object):
            return True
        buffers = isinstance(record.object, paddle.nn.Layer)
        if not self.said.isdisjoint(WHOLE | BUFFERING if buffers else WHOLE):
            return False
        if name in self.native or self._is_lifted(record, name):
            return False
        return self.probes.is_unread(record, name)

    def says(self, reads: Reads) -> None:
        """Note what a function names that reads many attributes of an object at once."""
        self.said |= (WHOLE | BUFFERING) & {*reads.attributes, *reads.outside}
        self.native |= reads.tabled
        self.tabled |= reads.tabled

    def reads_all(self, thing: object) -> bool:
        """Whether the code may read any attribute of ``thing``: it computes their names."""
        if EVERY in self.names or isinstance(thing, tuple(self.whole)):
            return True
        if is_librarys_data(type(thing)) or is_count_class(type(thing)):
            return True
        if isinstance(thing, type) and any(issubclass(kind, thing) for kind in self.whole):
            return True
        return PLAIN in self.names and not isinstance(thing, paddle.nn.Layer)

    def scopes(self) -> list[Record]:
        """What is watched now."""
        return list(self.records.values())

    def _note(self, record: Record) -> None:
        """Remember what is there now."""
        self.records[id(record.scope)] = record
        record.before = record.now()

    def _note_all(self, record: Record, but: Collection[str] = ()) -> None:
        """The same, and what can be reached from there; of many items none is looked at."""
        self._note(record)
        record.large = not record.fields and len(record.before) > LARGE
        if record.large:
            return
        for key, item in entries(record.before):
            if key not in but:
                part = record.entry(key)
                self.add(item, part.path, part)

    def keep(self, thing: object) -> None:
        """Let ``thing`` live as long as this, so that its id stays its own."""
        self._kept.append(thing)

    def _cell(self, cell: Any, name: str) -> None:
        if id(cell) not in self.records:
            self._note_all(Record(cell, name))

    def _global(self, scope: dict[str, Any], name: str) -> None:
        if scope is vars(sys) and name in _STREAMS & self.stored:
            code = self.called[-1].__code__ if self.called else None
            raise UnsupportedInGraphError(
                f"the function sets sys.{name}, and a run of its program prints to the real one",
                cure="set it outside of the converted function",
                file=None if code is None else code.co_filename,
                line=None if code is None else code.co_firstlineno,
            )
        record = self.records.get(id(scope))
        if record is None:
            record = self.records[id(scope)] = Record(scope, "", names=set(), before={})
        if record.names is not None and name not in record.names:
            record.names.add(name)
            record.before[name] = scope.get(name, ABSENT)
            self.add(record.before[name], name, Place(scope, name, name))

    def knows(self, thing: object) -> bool:
        """Whether ``thing``, of a class that is no user's, was there before."""
        known = self.opaque.knows(thing) or id(thing) in self._found
        return known or any(each is thing for each, _ in self.bound)

    def add(self, thing: Any, path: str, place: Place | None = None) -> None:
        """Watch an object and what can be reached from it.

        Args:
            thing: anything.
            path: how a reader would write it.
            place: where it is kept, if another one may stand there later.
        """
        if is_array(thing):
            pass  # an argument; its contents are in an input
        elif isinstance(thing, paddle.nn.Layer):
            self._layer(thing, path)
        elif isinstance(thing, tuple):
            self._class(type(thing))
            items = tuple.__iter__(thing)  # a class of the user's may have methods of these names
            for index, item in enumerate(items if tuple.__len__(thing) <= LARGE else ()):
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
            self.keep(thing)
            if vars(thing) and not is_library(thing.__code__.co_filename):
                self._fields(thing, path, place)
        elif type(thing) in _BOUND:
            self.bound.append((thing, path))
            for name in _BOUND[type(thing)]:
                part = f"{path}.{name}"
                self.add(getattr(thing, name), part, Slot(thing, name, part))
        else:
            self._attributes(thing, path, place)
            self.opaque.add(thing, path, place)

    def _attributes(self, thing: Any, path: str, place: Place | None) -> None:
        if slots_of(type(thing)):
            self.slots(thing, path, place)
        if is_user_object(thing):
            self._fields(thing, path, place)

    def _container(self, thing: Any, path: str, place: Place | None) -> None:
        if id(thing) in self.records or id(thing) in self._born or thing is sys.modules:
            return  # with all that is imported behind it
        self._note_all(Record(thing, path, place))
        self._factories.convert(thing, path, self.add)

    def _fields(self, thing: Any, path: str, place: Place | None = None, owner: Any = None) -> None:
        scope = fields_of(thing)
        self._class(type(thing))
        self.probes.follow(type(thing))
        if id(scope) in self.records or id(thing) in self._born:
            return
        record = Record(scope, path, place, owner, thing, fields=True)
        self._note_all(record, () if owner is None else LAYER_FIELDS)

    def slots(self, thing: Any, path: str, place: Place | None) -> None:
        """Watch attributes of an object that no ``__dict__`` holds."""
        scope = slot_fields(thing)
        self._class(type(thing))
        self.probes.follow(type(thing))
        if id(scope) in self.records or id(thing) in self._born:
            return
        self._note_all(Record(scope, path, place, object=thing, fields=True))

    def _class(self, kind: type) -> None:
        """The attributes of a class of the user's, and of its bases."""
        if id(kind) in self._classes or issubclass(kind, enum.Enum):
            return
        if not is_user_class(kind):
            if kind.__flags__ & HEAP_TYPE:
                self._scope(class_fields(kind), kind.__name__, whole=False)
            return
        self._classes[id(kind)] = kind
        if self.adopt is not None:
            self.adopt(kind)
        for base in kind.__mro__:
            scope = class_fields(base)
            if is_user_class(base) and id(scope) not in self.records:
                self._note_all(Record(scope, base.__name__, object=base, fields=True))

    def _module(self, module: types.ModuleType, path: str) -> None:
        """The attributes of a module that the captured code mentions."""
        file = getattr(module, "__file__", None)
        foreign = is_library(file) if file is not None else module.__spec__ is not None
        self._scope(vars(module), path, whole=not foreign)

    def _scope(self, scope: dict[str, Any], path: str, *, whole: bool) -> None:
        """Attributes of a module, or of a class of a library, that the captured code mentions.

        Args:
            scope: all its attributes.
            path: how a reader would write it.
            whole: it is the user's; of a library's, only what is assigned or a container counts.
        """
        if id(scope) not in self._modules:
            self._modules[id(scope)] = scope, whole
            if id(scope) not in self.records:
                self.records[id(scope)] = Record(scope, path, names=set(), before={})
            for name in self._named(scope, self.names, whole=whole):
                self._global(scope, name)

    def _named(self, scope: dict[str, Any], names: set[str], *, whole: bool) -> list[str]:
        found = names & scope.keys()
        if not whole:
            found = {name for name in found if isinstance(scope[name], CONTAINERS)}
        return sorted(found | self.stored)

    def _layer(self, layer: Any, path: str) -> None:
        if id(layer.__dict__) in self.records or id(layer) in self._born:
            return
        for name, part in layer.named_sublayers(include_self=True):
            prefix = f"{path}.{name}" if name else path
            self._fields(part, prefix, owner=part)
            for scope in (part._buffers, part._parameters):
                if id(scope) not in self.records:
                    self._note(Record(scope, prefix, object=part, fields=True))
            self._sublayers(part, prefix)

    def _sublayers(self, layer: Any, path: str) -> None:
        """The layers in a layer: which they are, and no more; they are watched themselves."""
        scope = layer._sub_layers
        if id(scope) not in self.records:
            self._note(Record(scope, path))

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
                    same = value is old and not self._is_lifted(record, key)
                    if not same and (is_symbol(value) or not record.library):
                        found.append(Change(record, key, value, old))
                again = [] if record.names is not None or record.fields else moved(before, now)
                if again:
                    found.append(Reordered(record, None, again))
            elif len(now) != len(before) or any(
                one is not other for one, other in zip(now, before, strict=True)
            ):
                found.append(Change(record, None, now, before))
        return found

    def _is_lifted(self, record: Record, key: Any) -> bool:
        """Whether an entry holds another number on each run than it did before the capture."""
        return bool(self.lifted) and record.entry(key).identity in self.lifted

    def undo(self) -> None:
        """Put everything back."""
        self._factories.undo()
        for record in self.records.values():
            record.restore()
        self.opaque.restore()


_BOUND: Final[dict[type, tuple[str, ...]]] = {
    functools.partial: ("func", "args", "keywords"),
    types.MethodType: ("__func__", "__self__"),
    types.BuiltinMethodType: ("__self__",),
    types.MethodWrapperType: ("__self__",),
}
"""Callables that hold what they are called with, and under which names."""

_STREAMS: Final = frozenset(("stdin", "stdout", "stderr"))

_ASKING: Final = frozenset(("hasattr", "getattr", "AttributeError", "Exception"))
