"""Whether the code that is captured reads what an attribute held before, or only what it assigns.

::

    def forward(self, inputs):
        self.inputs = inputs              # whatever was there: nobody reads it
        return self.head(self.inputs)

For the time of a capture the class gets a descriptor that hands on what is in the object's own
dictionary, or among the buffers of a layer, and notes when that is what was there before the
capture.  What was never read then is no guard (``relied``), though the function reads the
attribute.

Who copies or pickles an object (``copy.copy``, ``copy.deepcopy``, ``pickle``) asks it for its
``__reduce_ex__``, and reads all its attributes; a descriptor notes that, too.
"""

from __future__ import annotations

import contextlib
import dis
import enum
import types
import weakref
from collections.abc import Callable, Iterable, Iterator, Set
from typing import Any, Final

import numpy as np
import paddle

from d2s import paddle_bridge as bridge
from d2s.analysis.reads import ALIKE, OWN
from d2s.program.state.guards import is_constant
from d2s.program.state.places import ABSENT, CONTAINERS
from d2s.program.state.records import Record
from d2s.runtime.values.objects import dict_of, is_user_class, on_class

WHOLE: Final = frozenset(("__reduce__", "__getstate__", "__dict__"))
"""Names in code that may read every attribute of an object, and that no probe sees."""

BUFFERING: Final = frozenset(
    ("_buffers", "buffers", "named_buffers", "state_dict", "to_static_state_dict")
)
"""The same of the buffers of a layer."""


class Probes:
    """The attributes that are watched while they are assigned and read.

    Attributes:
        old: places that have been read while they held what was there before the capture, each as
            the id of the dictionary and the name.
        opened: classes of objects whose dictionaries the code reads, or of which code that runs as
            it is reads any attribute.
        compared: so it may be with objects that are compared, too, which are no layers.
    """

    def __init__(self) -> None:
        self.old: set[tuple[int, str]] = set()
        self.opened: set[type] = set()
        self.compared = False
        self._watched: dict[str, dict[int, Any]] = {}
        self._installed: dict[tuple[type, str], object] = {}
        self._active = False
        self._followed: set[type] = set()
        self._closed: set[type] = set()
        self._copied: dict[int, object] = {}

    def watch(self, records: Iterable[Record], stored: Set[str], read: Set[str]) -> None:
        """Watch attributes that code is about to use for the first time.

        Args:
            records: of the objects that there are.
            stored: those that the code assigns.
            read: those that it reads: what it calls may assign them before.
        """
        for record in filter(_is_of_object, records):
            for name in (stored | read) & record.before.keys():
                if name in stored or _is_data(record.before[name]):
                    self._watch(record, name)

    def watch_all(self, records: Iterable[Record]) -> None:
        """Watch all attributes: code is about to run that computes the names of those it reads."""
        for record in filter(_is_of_object, records):
            for name, before in record.before.items():
                if _is_data(before):
                    self._watch(record, name)

    def _watch(self, record: Record, name: str) -> None:
        if self._install(type(record.object), name):
            self._watched.setdefault(name, {})[id(record.scope)] = record.before[name]

    def follow(self, kind: type) -> None:
        """Watch who copies or pickles objects of ``kind``."""
        if kind in self._followed or not is_user_class(kind) or issubclass(kind, enum.Enum):
            return
        self._followed.add(kind)
        if self._active:
            self._watch_copies(kind)

    def _watch_copies(self, kind: type) -> None:
        before = vars(kind).get(_REDUCE, ABSENT)
        if not self._put(kind, _REDUCE, _CopyProbe(kind, before, self._copied)):
            self._closed.add(kind)

    def is_copied(self, thing: object) -> bool:
        """Whether somebody may have copied or pickled ``thing``."""
        return id(thing) in self._copied or type(thing) in self._closed

    def open(self, tables: frozenset[str], kind: type) -> None:
        """Note of what code reads the dictionary, or else what no probe sees.

        Args:
            tables: see ``Reads``.
            kind: the class of its first parameter; ``object`` if that is not known.
        """
        if "*" in tables:
            self.opened.add(object)
        elif OWN in tables:
            self.opened.add(kind)
        self.compared |= ALIKE in tables

    def is_opened(self, thing: object) -> bool:
        """Whether the code may read attributes of ``thing`` past the probes."""
        if self.compared and not isinstance(thing, paddle.nn.Layer):
            return True
        return isinstance(thing, tuple(self.opened))

    def is_unread(self, record: Record, name: str) -> bool:
        """Whether it has been seen that nobody has read what an attribute held before."""
        if self.is_opened(record.object):
            return False
        scope = id(record.scope)
        return scope in self._watched.get(name, ()) and (scope, name) not in self.old

    def _install(self, kind: type, name: str) -> bool:
        if (kind, name) in self._installed:
            return True
        if not is_user_class(kind) or on_class(kind, name, ABSENT) is not ABSENT:
            return False
        return self._put(kind, name, _Probe(name, self._note))

    def _put(self, kind: type, name: str, probe: object) -> bool:
        before = vars(kind).get(name, ABSENT)
        try:
            setattr(kind, name, probe)
        except (AttributeError, TypeError):  # a class that does not let itself be changed
            return False
        self._installed[kind, name] = before
        return True

    def _note(self, fields: dict[str, Any], name: str) -> None:
        """An attribute is read; of a copy of an object, too."""
        value = fields.get(name, ABSENT)
        for scope, before in self._watched.get(name, {}).items():
            if before is value:
                self.old.add((scope, name))

    @contextlib.contextmanager
    def installed(self) -> Iterator[None]:
        """For the time of a capture; the classes are as they were afterwards."""
        self._active = True
        try:
            for kind in self._followed:
                self._watch_copies(kind)
            yield
        finally:
            self._active = False
            while self._installed:
                (kind, name), before = self._installed.popitem()
                if before is ABSENT:
                    delattr(kind, name)
                else:
                    setattr(kind, name, before)


def _is_of_object(record: Record) -> bool:
    return record.fields and not isinstance(record.object, type) and _is_own(record)


def _is_own(record: Record) -> bool:
    """Whether a record is of an object's own dictionary, or of the buffers of a layer."""
    fields = dict_of(record.object)
    if record.scope is fields:
        return True
    return isinstance(record.object, paddle.nn.Layer) and record.scope is record.object._buffers


def _is_data(value: object) -> bool:
    """Whether a value is what code computes with; layers and functions are mostly only read."""
    return (
        bridge.is_eager(value)
        or isinstance(value, (*CONTAINERS, tuple))
        or is_constant(value)
        or isinstance(value, np.ndarray)
    )


class _Probe:
    """Hands on what is in the object's dictionary, as if it was not there.

    Args:
        name: the attribute.
        note: is told of each reading.
    """

    d2s_passes = True

    def __init__(self, name: str, note: Callable[[dict[str, Any], str], None]) -> None:
        self._name = name
        self._note = note

    def __get__(self, thing: Any, kind: Any = None) -> Any:
        name = self._name
        if thing is None:
            raise AttributeError(f"type object {kind.__name__!r} has no attribute {name!r}")
        fields = thing.__dict__
        self._note(fields, name)
        if name in fields:
            return fields[name]
        buffers = fields.get("_buffers", {}) if isinstance(thing, paddle.nn.Layer) else {}
        if name in buffers:
            self._note(buffers, name)
            return buffers[name]
        raise AttributeError(f"{type(thing).__name__!r} object has no attribute {name!r}")

    def __set__(self, thing: Any, value: Any) -> None:
        thing.__dict__[self._name] = value

    def __delete__(self, thing: Any) -> None:
        fields = thing.__dict__
        self._note(fields, self._name)
        if self._name not in fields:
            raise AttributeError(f"{type(thing).__name__!r} object has no attribute {self._name!r}")
        del fields[self._name]


_REDUCE: Final = "__reduce_ex__"


class _CopyProbe:
    """Hands on ``__reduce_ex__``, as if it was not there.

    Args:
        kind: the class that has it.
        before: what that class had itself.
        copied: the objects that are asked for it, by their ids.
    """

    d2s_passes = True

    def __init__(self, kind: type, before: Any, copied: dict[int, object]) -> None:
        self._kind = kind
        self._before = before
        self._copied = copied

    def __get__(self, thing: Any, kind: type) -> Any:
        if thing is not None:
            self._copied[id(thing)] = thing
        if self._before is not ABSENT:
            return self._before.__get__(thing, kind)
        return getattr(super(self._kind, kind if thing is None else thing), _REDUCE)


_assigned: Final[weakref.WeakKeyDictionary[types.CodeType, frozenset[str]]] = (
    weakref.WeakKeyDictionary()
)
"""What :func:`stored_by` has found, for as long as somebody has the code."""


def stored_by(code: types.CodeType) -> frozenset[str]:
    """Names of attributes that ``code`` assigns, or a function in it."""
    known = _assigned.get(code)
    if known is not None:
        return known
    found = {
        step.argval
        for step in dis.get_instructions(code)
        if step.opname in ("STORE_ATTR", "DELETE_ATTR")
    }
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            found |= stored_by(constant)
    known = _assigned[code] = frozenset(found)
    return known
