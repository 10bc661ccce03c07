"""What each operation of programs takes, measured as they run on the CPU.

Programs that are made ready within :func:`stopwatch` have a probe before each operation that does
something.  What lies between two probes is the time of the operation between them; what two probes
with nothing between them take is taken off.  Paddle's own profiler adds up the operations of one
kind, and does not say which of them it was.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from d2s.paddle_bridge.capturing.capture import no_collection
from d2s.paddle_bridge.gate import keep_mode, static_lock
from d2s.paddle_bridge.running.probes import PRESENT, SILENT, Listener, numbered, probed

_AT_END: Final = 4
"""Probes with nothing between them, at the end of a program."""


class Stopwatch(Listener):
    """What the operations of some programs take."""

    def __init__(self) -> None:
        self._operations: list[Any] = []
        self._last: set[int] = set()
        self._keep: list[Any] = []
        self._spent: dict[int, list[float]] = {}
        self._idle: list[float] = []
        self._now: int | None = None
        self._since = 0.0

    def watched(self, program: Any) -> tuple[Any, Callable[[Any], Any]]:
        """A copy of ``program`` with probes, and what finds the copy of a value."""
        spots = numbered(program)
        first = len(self._operations)
        self._operations += [*(spot.operation for spot in spots), *[None] * _AT_END]
        self._last.add(len(self._operations) - 1)
        self._keep.append(program)
        suspects = {
            number for number, spot in enumerate(spots) if spot.operation.name() not in SILENT
        }
        with static_lock, keep_mode(), no_collection():
            found: tuple[Any, Callable[[Any], Any]] = probed(
                program, suspects, first=first, at_end=_AT_END, effects=True
            )
        return found

    def about_to(self, number: int, tensors: tuple[Any, ...]) -> None:
        """The operation before it has ended."""
        self._stop()
        self._start(None if number in self._last else number)

    def trip(self, number: int) -> None:
        """The operation before has ended; what follows is the loop's."""
        self._stop()
        self._start(number)

    def _stop(self) -> None:
        spent = time.perf_counter() - self._since
        if self._now is None:
            return
        if self._operations[self._now] is None:
            self._idle.append(spent)
        else:
            self._spent.setdefault(self._now, []).append(spent)

    def _start(self, number: int | None) -> None:
        self._now = number
        self._since = time.perf_counter()

    def clear(self) -> None:
        """Forget what was measured, not what is watched."""
        self._spent.clear()
        self._idle.clear()
        self._now = None

    def spent(self) -> Iterator[tuple[Any, float]]:
        """Operations, and the seconds of all runs of each: so many times the median of one."""
        idle = statistics.median(self._idle) if self._idle else 0.0
        for number, found in self._spent.items():
            one = max(0.0, statistics.median(found) - idle)
            yield self._operations[number], one * len(found)


@contextmanager
def stopwatch() -> Iterator[Stopwatch]:
    """Within it, programs of this thread that are made ready and run are measured."""
    before, PRESENT.record = PRESENT.record, Stopwatch()
    try:
        yield PRESENT.record
    finally:
        PRESENT.record = before


def present_stopwatch() -> Stopwatch | None:
    """The one that programs of this thread are to be watched by."""
    found = PRESENT.record
    return found if isinstance(found, Stopwatch) else None
