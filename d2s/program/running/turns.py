"""Calls that take items of iterators, one after the other: two threads get two items."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Final

_TURN: Final = threading.RLock()
_last: list[int] = [0]
"""The thread whose turn was the last one."""


class TakenMeanwhileError(Exception):
    """Another thread has taken an item, and the program does not fit the next one.

    Nothing has happened yet: the call begins anew.
    """


@contextmanager
def turn(
    is_fresh: Callable[[], bool] | None, lock: AbstractContextManager[object] | None
) -> Iterator[None]:
    """While entered, no other thread runs such a program.

    Args:
        is_fresh: whether a program that takes items still fits what the iterators give, which it
            reads anew.
        lock: of the program alone.

    Raises:
        TakenMeanwhileError: what comes next is something else.
    """
    with contextlib.ExitStack() as stack:
        if is_fresh is not None:
            stack.enter_context(_TURN)
            here = threading.get_ident()
            other, _last[0] = _last[0] not in (0, here), here
            if other and not is_fresh():
                raise TakenMeanwhileError
        if lock is not None:
            stack.enter_context(lock)
        yield
