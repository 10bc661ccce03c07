"""Paddle's flags for how programs are prepared and run; the user's again when nobody is inside.

They hold for all threads.  One thread prepares at a time (``gate``); many run.

======================================  ==================================================
while programs run                      operations come in the order of the program
while one is prepared for a scope       its values stay until the run ends, or are given
                                        back in batches, or as soon as nothing reads them
======================================  ==================================================
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import operator
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import paddle

from d2s.paddle_bridge.names import core, translator_log


class _Registered:
    """A flag in Paddle's table of them.

    Args:
        name: which flag.
    """

    def __init__(self, name: str) -> None:
        self._flags = core.globals()
        self._name = name

    @property
    def value(self) -> Any:
        """What it is set to."""
        return self._flags[self._name]

    @value.setter
    def value(self, value: Any) -> None:
        self._flags[self._name] = value


def _in_memory(name: str) -> Any:
    """A flag of two values, where it lies: in a tenth of the time that Paddle's table takes.

    The table itself is as good where it is not found, or is not what the table knows.
    """
    registered = _Registered(name)
    try:
        library = ctypes.CDLL(str(Path(paddle.__path__[0]) / "libs" / "libcommon.so"))
        found = ctypes.c_bool.in_dll(library, f"_ZN12paddle_flags{len(name)}{name}E")
    except (OSError, ValueError):
        return registered
    before = registered.value
    try:
        for value in (not before, before):
            registered.value = value
            if found.value is not value:
                return registered
    finally:
        registered.value = before
    return found


class _Flag:
    """Sets a flag of Paddle's while any thread is inside, where the user has left it as it was.

    Args:
        flag: has the ``value``.
        replaces: whether a value that it has is replaced; another one is the user's and stays.
        value: what it is while a thread is inside.

    Attributes:
        flag: the same.
        acquire, release: of the lock under which the others change.
        inside: how many are.
        before: what it was when the first one came.
        changed: it was set, and has to be restored.
    """

    def __init__(self, flag: Any, replaces: Callable[[Any], bool], value: Any) -> None:
        self.flag = flag
        self._replaces, self._value = replaces, value
        lock = threading.Lock()
        # Called by themselves: half the time of a ``with``, on the way of every call.
        self.acquire, self.release = lock.acquire, lock.release
        self.inside = 0
        self.changed = False
        self.before: Any = None

    def enter(self) -> None:
        """Set it; a second thread finds it set."""
        self.acquire()
        try:
            if not self.inside:
                self.before = self.flag.value
                if self._replaces(self.before):
                    self.flag.value = self._value
                    self.changed = True
            self.inside += 1
        finally:
            self.release()

    def leave(self) -> None:
        """Let the last thread restore what there was."""
        self.acquire()
        try:
            self.inside -= 1
            if self.changed and not self.inside:
                self.flag.value = self.before
                self.changed = False
        finally:
            self.release()

    def __enter__(self) -> None:
        self.enter()

    def __exit__(self, *raised: object) -> None:
        self.leave()


TRACE: Final = "FLAGS_enable_pir_in_executor_trace_run"
DELETE: Final = "FLAGS_eager_delete_tensor_gb"
INPLACE: Final = "FLAGS_pir_apply_inplace_pass"
GIB: Final = 1 << 30
"""The unit of ``DELETE``, in bytes."""

ORDER: Final = _Flag(_in_memory(TRACE), operator.not_, True)


class Way:
    """How a program is prepared: what becomes of its values while it runs.

    Args:
        flags: set meanwhile.
    """

    def __init__(self, *flags: _Flag) -> None:
        self._flags = flags

    def with_(self, flag: _Flag) -> Way:
        """This way, and a flag more."""
        return self if flag in self._flags else Way(*self._flags, flag)

    def __enter__(self) -> None:
        for flag in self._flags:
            flag.enter()

    def __exit__(self, *raised: object) -> None:
        for flag in reversed(self._flags):
            flag.leave()


KEEP: Final = _Flag(_Registered(DELETE), operator.not_, -1.0)

AS_SET: Final = Way()
"""As the user's flags say."""

KEEPING: Final = Way(KEEP)
"""Values stay until the run ends; see ``memory``."""

OUT_OF_PLACE: Final = _Flag(_Registered(INPLACE), bool, False)
"""No operation writes into its operand."""

KEEPING_BLOCKS: Final = Way(KEEP, OUT_OF_PLACE)
"""Both; see ``block_memory``."""


@functools.cache
def returning(batch: int, *, blocks: bool = False) -> Way:
    """Values are given back as the run goes on, by Paddle's thread for that.

    Args:
        batch: how many bytes are one task of it; each value is one if that is 0.
        blocks: there are branches or loops, which would write over what they share if it stayed:
            also where the user has set that all values stay.
    """
    if not batch and not blocks:
        return AS_SET
    return Way(_Flag(_Registered(DELETE), _below_or_zero if blocks else operator.not_, batch / GIB))


def _below_or_zero(value: float) -> bool:
    return value <= 0


def program_order() -> contextlib.AbstractContextManager[None]:
    """Run programs in the interpreter's trace mode; the user's flag is restored at the end.

    Trace mode runs the operations one by one in the order of the program, so host operators keep
    theirs (serial mode does not: an operation runs as soon as its operands are there), and it is
    several times cheaper for small programs than the multi-thread mode.
    """
    return ORDER


@contextlib.contextmanager
def log_alone() -> Iterator[None]:
    """Keep what Paddle logs of a program out of the standard output.

    ``paddle.jit.set_verbosity(..., also_to_stdout=True)`` formats the text of the program with
    ``%``, which fails; the log itself has it.
    """
    echo = translator_log.need_to_echo_log_to_stdout
    translator_log.need_to_echo_log_to_stdout = False
    try:
        yield
    finally:
        translator_log.need_to_echo_log_to_stdout = echo


def show_code(name: str, text: Callable[[], str]) -> None:
    """Log the code that a function was rewritten to, if ``paddle.jit.set_code_level`` asks for it.

    Args:
        name: of the function.
        text: gives the code.
    """
    if translator_log.transformed_code_level <= 0:
        return
    message = f"The converted code of {name}:\n{text()}"
    translator_log.logger.info("%s", message)
    if translator_log.need_to_echo_code_to_stdout:
        print(message)
