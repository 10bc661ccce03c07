"""Whether the code that is captured reads what an attribute held before, or only what it assigns.

::

    def forward(self, inputs):
        self.inputs = inputs              # whatever was there: nobody reads it
        return self.head(self.inputs)

For the time of a capture the class gets a descriptor that hands on what is in the object's own
dictionary, or among the buffers of a layer, and notes when that is what was there before the
capture.  What was never read then is no guard (``relied``), though the function reads the
attribute.
"""

from __future__ import annotations

import contextlib
import dis
import types
import weakref
from collections.abc import Callable, Iterable, Iterator, Set
from typing import Any, Final

import numpy as np
import paddle

from d2s import paddle_bridge as bridge
from d2s.program.state.guards import is_constant
from d2s.program.state.places import ABSENT, CONTAINERS
from d2s.program.state.records import Record
from d2s.runtime.values.objects import dict_of, is_user_class, on_class

WHOLE: Final = frozenset(
    ("deepcopy", "pickle", "loads", "dumps", "__reduce__", "__getstate__", "__dict__")
)
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
    """

    def __init__(self) -> None:
        self.old: set[tuple[int, str]] = set()
        self._watched: dict[str, dict[int, Any]] = {}
        self._installed: list[tuple[type, str]] = []

    def watch(self, records: Iterable[Record], stored: Set[str], read: Set[str]) -> None:
        """Watch attributes that code is about to use for the first time.

        Args:
            records: of the objects that there are.
            stored: those that the code assigns.
            read: those that it reads: what it calls may assign them before.
        """
        for record in records:
            thing = record.object
            if not record.fields or isinstance(thing, type) or not _is_own(record):
                continue
            for name in (stored | read) & record.before.keys():
                before = record.before[name]
                if (name in stored or _is_data(before)) and self._install(type(thing), name):
                    self._watched.setdefault(name, {})[id(record.scope)] = before

    def is_unread(self, record: Record, name: str) -> bool:
        """Whether it has been seen that nobody has read what an attribute held before."""
        scope = id(record.scope)
        return scope in self._watched.get(name, ()) and (scope, name) not in self.old

    def _install(self, kind: type, name: str) -> bool:
        if (kind, name) in self._installed:
            return True
        if not is_user_class(kind) or on_class(kind, name, ABSENT) is not ABSENT:
            return False
        try:
            setattr(kind, name, _Probe(name, self._note))
        except (AttributeError, TypeError):  # a class that does not let itself be changed
            return False
        self._installed.append((kind, name))
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
        try:
            yield
        finally:
            while self._installed:
                kind, name = self._installed.pop()
                delattr(kind, name)


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
