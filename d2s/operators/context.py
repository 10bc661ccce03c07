"""What is known while one function is being captured: blocks, host effects, Python numbers.

There is one :class:`Capture` per program; it is made by ``program.capture`` and found here, per
thread, by every operator.  Outside of a capture :func:`current` is ``None`` and the operators
behave like Python.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from d2s.diagnostics.location import Location, here
from d2s.errors import D2SError


@dataclass
class Block:
    """A branch side or loop body that is being captured.

    Attributes:
        kind: ``"branch"`` or ``"loop"``.
        left: a ``raise`` has ended this side; what it leaves behind is never read.
    """

    kind: str
    left: bool = False


@dataclass
class Capture:
    """State of one capture; it begins empty and ends with the capture.

    Attributes:
        blocks: the branches and loops around the operation that is captured next.
        hosts: host functions of the program, which must live as long as it does.
        numbers: values that stand for a Python number: ``value.id`` -> its type; the value is
            kept too, so that the id stays its own.
        export: the program is to be saved: effects become Paddle's own operations.
        gradients: the program is captured to be differentiated (not under ``no_grad``).
        sometimes: values that are a Python number on some paths: ``value.id`` -> the value, the
            flag under which they are, and the number's type.
        roots: values that are an argument's contents, changed in place or not:
            ``value.id`` -> the value and the argument's index.
        written: the newest contents of each argument that is changed in place.
        copies: values that are copies of others, made to hand them on: ``value.id`` -> value.
        attempts: for each ``try`` that is being captured, what its handlers catch.
        on_call: told of each converted function before it runs, with the object that it is a
            method of.
    """

    export: bool = False
    gradients: bool = True
    blocks: list[Block] = field(default_factory=list)
    hosts: list[Any] = field(default_factory=list)
    numbers: dict[int, tuple[Any, type]] = field(default_factory=dict)
    sometimes: dict[int, tuple[Any, Any, type]] = field(default_factory=dict)
    roots: dict[int, tuple[Any, int]] = field(default_factory=dict)
    written: dict[int, Any] = field(default_factory=dict)
    copies: dict[int, Any] = field(default_factory=dict)
    attempts: list[Callable[[], Any]] = field(default_factory=list)
    on_call: Callable[[Any, Any], None] | None = None

    @contextmanager
    def block(self, kind: str) -> Iterator[Block]:
        """Enter a branch side or loop body."""
        entered = Block(kind)
        self.blocks.append(entered)
        try:
            yield entered
        finally:
            self.blocks.pop()

    def noted(self) -> tuple[dict[int, Any], ...]:
        """What is noted of values now; for :meth:`forget_since`."""
        parts: tuple[dict[int, Any], ...] = (
            self.numbers,
            self.sometimes,
            self.roots,
            self.written,
        )
        return tuple(dict(part) for part in parts)

    def forget_since(self, notes: tuple[dict[int, Any], ...]) -> None:
        """Drop the notes on values of operations that were taken out of the program again."""
        self.numbers, self.sometimes, self.roots, self.written = (dict(part) for part in notes)

    @property
    def guarded(self) -> bool:
        """Whether a tensor condition decides if the present code runs."""
        return bool(self.blocks)


class _Local(threading.local):
    capture: Capture | None = None


_local = _Local()


def current() -> Capture | None:
    """The capture under way in this thread."""
    return _local.capture


@contextmanager
def capture_into(capture: Capture) -> Iterator[Capture]:
    """Make ``capture`` the current one."""
    before = _local.capture
    _local.capture = capture
    try:
        yield capture
    finally:
        _local.capture = before


def error_here(kind: Callable[..., D2SError], cause: str, cure: str) -> D2SError:
    """An error of ``kind`` at the user's present line."""
    place: Location | None = here()
    if place is None:
        return kind(cause, cure=cure)
    return kind(cause, cure=cure, file=place.file, line=place.line)
