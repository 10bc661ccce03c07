"""Copies of a program, for threads that find it running.

Paddle runs a program in one thread at a time.  A program that only computes can be prepared more
than once, and its copies run side by side, as different programs do (decision 0024)::

    thread 1: runs the program        thread 2: finds it running, again and again
                                                takes a copy, and gives it back after the run

A copy costs what preparing the program costs, so one collision now and then makes none.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from d2s.paddle_bridge.gate import static_lock

_OFTEN: Final = 8
"""So often a thread must have found the program, and all copies, running before there is another
copy.
"""


class Copies:
    """The copies of one program, those that no thread runs.

    Args:
        make: makes one.
        most: so many there may be.
    """

    def __init__(self, make: Callable[[], Any], most: int) -> None:
        self._make = make
        self._left = most
        self._free: list[Any] = []
        self._missed = 0

    def take(self) -> Any:
        """One that is this thread's until :meth:`put`; ``None`` if there is none."""
        try:
            return self._free.pop()
        except IndexError:
            pass
        self._missed += 1
        if self._missed < _OFTEN or not self._left or not static_lock.is_free():
            return None
        with static_lock:
            if not self._left or self._missed < _OFTEN:  # another thread has made one
                return None
            self._left -= 1
            self._missed = 0
            return self._make()

    def put(self, copy: Any) -> None:
        """Give it back."""
        self._free.append(copy)
