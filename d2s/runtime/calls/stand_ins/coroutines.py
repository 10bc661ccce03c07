"""Coroutines while a program is captured: they run to their end at once (rule A6).

What a coroutine awaits is Python, and happens while the program is captured; other coroutines of
the user's become part of the program.  A coroutine that waits for something else to happen cannot
be part of a program.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any

from d2s.errors import UnsupportedInGraphError
from d2s.runtime.trace import current


def finished(function: Callable[..., Any], /, *arguments: object, **options: object) -> Any:
    """``function(*arguments, **options)``; of a coroutine function, what it returns in the end.

    Raises:
        UnsupportedInGraphError: (D2S205) the coroutine waits for something.
    """
    made = function(*arguments, **options)
    if not inspect.iscoroutine(made):
        return made
    try:
        while made.send(None) is None:  # it only lets others run, as asyncio.sleep(0) does
            pass
        inner: Any = made
        while inspect.iscoroutine(inner.cr_await):
            inner = inner.cr_await
        frame = made.cr_frame
        raise UnsupportedInGraphError(
            f"the coroutine {inner.__qualname__!r} awaits something that is not there yet while "
            "the program is captured",
            cure="await it in a coroutine that is not converted, and pass the result",
            file=made.cr_code.co_filename,
            line=made.cr_code.co_firstlineno if frame is None else frame.f_lineno,
        )
    except StopIteration as end:
        return end.value
    finally:
        made.close()


def gather(*awaited: Awaitable[Any], return_exceptions: bool = False) -> Any:
    """``asyncio.gather``: in a program one after the other."""
    if current() is None:
        return asyncio.gather(*awaited, return_exceptions=return_exceptions)
    return _one_by_one(awaited, return_exceptions)


async def _one_by_one(awaited: tuple[Awaitable[Any], ...], keep: bool) -> list[Any]:
    results: list[Any] = []
    for each in awaited:
        try:
            results.append(await each)
        except Exception as error:
            if not keep:
                raise
            results.append(error)
    return results
