"""Threads: one makes programs at a time, runs go on side by side (decision 0010)."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any, Final

from d2s.paddle_bridge.names import framework, switch_tracer


class _Gate:
    """Runs of programs go on side by side; what changes Paddle's tables of programs, alone.

    A run takes no lock: it notes that its thread is busy, and then looks whether the gate is
    closed; who closes the gate looks then whether a thread is busy.  One of them sees the other.
    """

    PATIENCE: Final = 30.0
    """Seconds that a closed gate waits for the runs that go on: they may wait for us."""

    def __init__(self) -> None:
        self.busy: dict[int, int] = {}
        self.closed_by: int | None = None
        self._changed = threading.Condition()

    def enter(self) -> int:
        """Begin a run for which Paddle has prepared all; what :meth:`leave` is given."""
        me = threading.get_ident()
        depth = self.busy.get(me, 0)
        self.busy[me] = depth + 1
        if self.closed_by is not None and not depth:
            self.pass_by(me)
        return depth

    def leave(self, depth: int) -> None:
        """End the run."""
        me = threading.get_ident()
        if depth:
            self.busy[me] = depth
        else:
            self.busy.pop(me, None)
        if self.closed_by is not None:
            self.tell()

    def tell(self) -> None:
        """Let the one look again who waits until nothing else runs."""
        with self._changed:
            self._changed.notify_all()

    def pass_by(self, me: int) -> None:
        """Wait until the gate is open, unless it is this thread that has closed it."""
        if self.closed_by != me:
            self._wait(me)

    def _wait(self, me: int) -> None:
        """Let the one pass that has closed the gate."""
        with self._changed:
            depth = self.busy[me]
            while self.closed_by is not None:
                self.busy.pop(me, None)
                self._changed.notify_all()
                self._changed.wait()
            self.busy[me] = depth

    def acquire(self, lock: Any) -> None:
        """Take a lock that may be another thread's.

        Its holder may want to be alone, so it need not wait for this thread meanwhile, whatever
        run or backward it is in.
        """
        if lock.acquire(blocking=False):
            return
        me = threading.get_ident()
        depth = self.busy.pop(me, 0)
        if depth and self.closed_by is not None:
            self.tell()
        lock.acquire()
        if depth:
            self.busy[me] = depth
            if self.closed_by is not None:
                self.pass_by(me)

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """While nothing else runs, is captured or built."""
        me = threading.get_ident()
        with static_lock:
            outer = self.closed_by
            self.closed_by = me
            try:
                with self._changed:
                    self._changed.wait_for(lambda: not self._others(me), self.PATIENCE)
                yield
            finally:
                self.closed_by = outer
                with self._changed:
                    self._changed.notify_all()

    @property
    def is_idle(self) -> bool:
        """Whether no thread runs or prepares a program, not even this one."""
        return not self.busy and self.closed_by is None

    def _others(self, me: int) -> bool:
        return any(thread != me for thread in list(self.busy))


GATE: Final = _Gate()


class _StaticLock:
    """A lock that a thread may take again."""

    def __init__(self) -> None:
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        GATE.acquire(self._lock)

    def __exit__(self, *raised: object) -> None:
        self._lock.release()

    def is_free(self) -> bool:
        """Whether this thread would get it at once; it may be too late when that is said."""
        if not self._lock.acquire(blocking=False):
            return False
        self._lock.release()
        return True


static_lock: Final = _StaticLock()
"""Held while a program is captured or built: Paddle makes one program at a time in a process."""


class _Quiet(threading.local):
    depth = 0


_quiet = _Quiet()


@contextlib.contextmanager
def keep_mode() -> Iterator[None]:
    """While this thread captures or builds: threads that begin meanwhile are in dygraph mode.

    A thread takes its mode from a variable of the process when it first uses Paddle, and keeps
    it.  Paddle writes that variable whenever any thread changes its own mode: a thread that
    began during a capture would stay in static mode for ever, and write into the program.
    """
    _quiet.depth += 1
    try:
        yield
    finally:
        _quiet.depth -= 1


def _set_mode(self: Any, name: str, value: Any) -> None:
    if name == "_dygraph_tracer_":
        if not _quiet.depth:
            framework._dygraph_tracer_ = value
        switch_tracer(value)
    self.__dict__[name] = value


setattr(type(framework.global_var), "__setattr__", _set_mode)  # noqa: B010 - mypy
