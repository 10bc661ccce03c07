"""What becomes of a construct and why, noted where it is decided while a program is captured.

What a program holds is read from the program; here is what it cannot tell: a loop that was
unrolled, a branch that Python decided, what a host operator calls.  A capture that is undone and
made once more notes the same places again, so that of each place the outcomes are kept, not how
often they came.
"""

from __future__ import annotations

import contextlib
import threading
import types
import weakref
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from d2s.diagnostics.location import here

_MOST: Final = 8
"""So many outcomes of one place are kept: the first ones, and the last."""


@dataclass
class Noted:
    """What was noted of one kind at one line.

    Attributes:
        values: the outcomes, each once: numbers of trips, truths of a condition.
        text: of what, or why; the last one.
    """

    values: list[int] = field(default_factory=list)
    text: str = ""

    def add(self, value: int, text: str) -> None:
        """One more outcome."""
        self.text = text or self.text
        if value not in self.values:
            del self.values[_MOST - 1 :]
            self.values.append(value)


@dataclass
class Notes:
    """What was noted during one capture.

    Attributes:
        places: by file, line and kind.
        functions: the user's functions that became part of the program.
    """

    places: dict[tuple[str, int, str], Noted] = field(default_factory=dict)
    functions: dict[int, weakref.ref[types.FunctionType]] = field(default_factory=dict)

    def called(self, function: types.FunctionType) -> None:
        """A function becomes part of the program."""
        self.functions[id(function.__code__)] = weakref.ref(function)


class _Present(threading.local):
    notes: Notes | None = None


_present = _Present()


@contextlib.contextmanager
def noting() -> Iterator[Notes]:
    """Keep what is noted in this thread."""
    before, _present.notes = _present.notes, Notes()
    try:
        yield _present.notes
    finally:
        _present.notes = before


def note(kind: str, value: int = 0, text: str = "") -> None:
    """Note what has become of the construct on the user's present line.

    Args:
        kind: ``if``, ``for``, ``while``, ``comprehension``: decided by Python; ``host``; ``list``.
        value: the truth of the condition, or the number of trips.
        text: of what, or why.
    """
    notes = _present.notes
    place = None if notes is None else here()
    if notes is None or place is None:
        return
    notes.places.setdefault((place.file, place.line, kind), Noted()).add(value, text)


def note_function(function: types.FunctionType) -> None:
    """Note that a function of the user's becomes part of the program."""
    if _present.notes is not None:
        _present.notes.called(function)
