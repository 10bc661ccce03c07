"""``d2s.probe``: notes what a statement has bound, for the self-check.

In dygraph the value is noted at once.  In a capture its tensors are shipped to the host, as those
of a ``print`` are, so that each run notes its own values, in the order of the program.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from d2s.diagnostics.location import Location
from d2s.runtime.host.shipment import Shipment
from d2s.runtime.host.text import HostText
from d2s.runtime.lists.dynamic_list import DynamicList
from d2s.runtime.trace import current
from d2s.runtime.values.callbacks import host_call
from d2s.runtime.values.objects import is_user_class
from d2s.runtime.values.tensors import is_array
from d2s.runtime.values.tree import kind_of, map_children

Note = Callable[[Location, str, str, Any], None]
"""Takes the place, the kind of statement, the variable, and the value of this run."""


class _Hidden:
    """Stands for a value that cannot be shown; it equals anything."""

    def __repr__(self) -> str:
        return "..."


HIDDEN: Final = _Hidden()

LONG: Final = 64
"""Of a longer container only the length is shown."""


class _Active(threading.local):
    note: Note | None = None


_active = _Active()


def probing() -> bool:
    """Whether functions that are converted now get probes."""
    return _active.note is not None


@contextmanager
def probes(note: Note) -> Iterator[None]:
    """Hand what probes see in this thread to ``note``."""
    before, _active.note = _active.note, note
    try:
        yield
    finally:
        _active.note = before


def probe(kind: str, name: str, value: object) -> None:
    """Note that ``name`` holds ``value`` on the caller's line.

    Args:
        kind: the kind of statement: ``value``, ``argument``, ``return``, or the word it begins
            with.
        name: the variable or attribute.
        value: what it holds.
    """
    frame = sys._getframe(1)
    place = Location(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)
    capture = current()
    if capture is None:
        _note(place, kind, name, _shown(value))
        return
    if capture.export:
        return
    shipment = Shipment()
    pack = shipment.pack(_shown(value))

    def host(*tensors: Any) -> None:
        if _active.note is not None:
            _note(place, kind, name, pack(tensors[: len(shipment.values)]))

    host_call(host, shipment.values)


def _note(place: Location, kind: str, name: str, value: object) -> None:
    if _active.note is not None:
        _active.note(place, kind, name, value)


def _shown(value: object) -> Any:
    """``value`` with what has no host form, or is too long, hidden."""
    if isinstance(value, DynamicList | HostText):
        return HIDDEN
    kind = None if is_user_class(type(value)) else kind_of(value)
    if kind is None or is_array(value):
        return value
    if kind.size(value) > LONG:
        return HIDDEN
    return map_children(_shown, value) if kind.sequence or kind.mapping else value
