"""The Python call stack that Paddle notes for each operation, without reading the files again.

Paddle asks ``traceback.extract_stack`` and then for the text of each line, for every operation: a
third of what a first call takes.  While a thread captures a program, what Paddle gets there are
the frames of the capture, which are remembered, with no text for those that are not the user's;
Python code that asks gets what it always gets.
"""

from __future__ import annotations

import contextlib
import sys
import threading
import traceback
import types
from collections.abc import Callable, Iterator
from typing import Any, Final

_lock: Final = threading.Lock()
_depth = 0
_original = traceback.extract_stack
_known: dict[tuple[int, int], tuple[types.CodeType, traceback.FrameSummary]] = {}
"""By the id of a code, whose own hash is slow, and the line; keeps the code."""


class _Textless(dict[str, bool]):
    """By file, as ``decides`` has said."""

    def __init__(self, decides: Callable[[str], bool]) -> None:
        super().__init__()
        self.decides = decides

    def __missing__(self, file: str) -> bool:
        found = self[file] = self.decides(file)
        return found


class _Here(threading.local):
    textless: _Textless | None = None
    outermost: types.FrameType | None = None

    def __init__(self) -> None:
        self.found = traceback.StackSummary()
        """The one list that Paddle gets; it copies it at once, and never gives it back."""


_here = _Here()


@contextlib.contextmanager
def remembered_frames(
    textless: Callable[[str], bool], outermost: types.FrameType | None = None
) -> Iterator[None]:
    """Operations that this thread makes keep stacks of frames that are described once.

    Args:
        textless: whether the lines of a file need not be read.
        outermost: the frame with which the stacks begin; that of the thread unless given.
    """
    global _depth, _original
    before = _here.textless, _here.outermost
    _here.textless, _here.outermost = _Textless(textless), outermost
    with _lock:
        _depth += 1
        if _depth == 1:
            _original, traceback.extract_stack = traceback.extract_stack, _extract
    try:
        yield
    finally:
        _here.textless, _here.outermost = before
        _here.found.clear()
        with _lock:
            _depth -= 1
            if not _depth:
                traceback.extract_stack = _original
                _known.clear()


def _extract(f: Any = None, limit: int | None = None) -> traceback.StackSummary:
    inner = sys._getframe(1) if f is None else f
    textless, outermost = _here.textless, _here.outermost
    if textless is None or f is not None or limit is not None or _asks(inner, textless):
        return _original(inner, limit)
    found = _here.found
    found.clear()
    frame: types.FrameType | None = inner
    while frame is not None:
        code = frame.f_code
        key = id(code), frame.f_lineno
        known = _known.get(key)
        if known is None:
            line = "" if textless[code.co_filename] else None
            known = (
                code,
                traceback.FrameSummary(
                    code.co_filename, frame.f_lineno, code.co_name, lookup_line=False, line=line
                ),
            )
            _known[key] = known
        found.append(known[1])
        frame = None if frame is outermost else frame.f_back
    found.reverse()
    return found


def _asks(frame: types.FrameType, textless: _Textless) -> bool:
    """Whether Python code has called for the stack; Paddle does so from C++."""
    outer: types.FrameType | None = frame
    while outer is not None and textless[outer.f_code.co_filename]:
        outer = outer.f_back  # calls of the user's code go through ours
    return any("extract_stack" in each.f_code.co_names for each in (frame, outer) if each)
