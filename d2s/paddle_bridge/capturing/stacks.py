"""The Python call stack that Paddle notes for each operation, without reading the files again.

Paddle asks ``traceback.extract_stack`` and then for the text of each line, for every operation: a
third of what a first call takes.  While a thread captures a program, what Paddle gets there are
the frames of the user's code, remembered, and the first of what each has called; to write all
into a program took longer than to make the operation.  Of the parts that a function is made of,
one in the other as its ``if`` and ``while`` are, the innermost stands for the function.  Python
code that asks gets what it always gets::

    net.py, forward                              net.py, forward
    d2s/runtime/calls/layers.py, layer_call      d2s/runtime/calls/layers.py, layer_call
    paddle/nn/layer/transformer.py, forward      paddle/nn/layer/transformer.py, forward
    ... 20 frames of Paddle's and ours
    paddle/tensor/linalg.py, matmul
"""

from __future__ import annotations

import contextlib
import linecache
import sys
import threading
import traceback
import types
from collections.abc import Callable, Iterator
from typing import Any, Final

MOST: Final = 8
"""So many frames are told of what a frame of the user's has called: names by which it is found."""

_lock: Final = threading.Lock()
_depth = 0
_original = traceback.extract_stack


class _Frame(traceback.FrameSummary):
    """A frame whose text is at hand: Paddle asks for it each time."""

    __slots__ = ("line",)
    line: str


_known: dict[tuple[int, int], tuple[types.CodeType, _Frame]] = {}
"""By the id of a code, whose own hash is slow, and the line; keeps the code."""


class _Hidden(dict[str, bool]):
    """By file, as ``decides`` has said."""

    def __init__(self, decides: Callable[[str], bool]) -> None:
        super().__init__()
        self.decides = decides

    def __missing__(self, file: str) -> bool:
        found = self[file] = self.decides(file)
        return found


class _Parts(dict[tuple[int, int], tuple[bool, types.CodeType, types.CodeType]]):
    """By the ids of two codes, whether the first is a part of the second; keeps both."""

    def __init__(self, decides: Callable[[types.CodeType, types.CodeType], bool]) -> None:
        super().__init__()
        self.decides = decides

    def is_part(self, code: types.CodeType, around: types.CodeType) -> bool:
        """The same, asked once."""
        key = id(code), id(around)
        known = self.get(key)
        if known is None:
            known = self[key] = self.decides(code, around), code, around
        return known[0]


class _Here(threading.local):
    hidden: _Hidden | None = None
    parts: _Parts | None = None
    outermost: types.FrameType | None = None

    def __init__(self) -> None:
        self.found = traceback.StackSummary()
        """The one list that Paddle gets; it copies it at once, and never gives it back."""


_here = _Here()


@contextlib.contextmanager
def remembered_frames(
    hidden: Callable[[str], bool],
    is_part: Callable[[types.CodeType, types.CodeType], bool],
    outermost: types.FrameType | None = None,
) -> Iterator[None]:
    """Operations that this thread makes keep stacks of frames that are described once.

    Args:
        hidden: whether frames of a file say nothing to the user.
        is_part: whether the first code is a part of the function of the second.
        outermost: the frame with which the stacks begin; that of the thread unless given.
    """
    global _depth, _original
    before = _here.hidden, _here.parts, _here.outermost
    _here.hidden, _here.parts, _here.outermost = _Hidden(hidden), _Parts(is_part), outermost
    with _lock:
        _depth += 1
        if _depth == 1:
            _original, traceback.extract_stack = traceback.extract_stack, _extract
    try:
        yield
    finally:
        _here.hidden, _here.parts, _here.outermost = before
        _here.found.clear()
        with _lock:
            _depth -= 1
            if not _depth:
                traceback.extract_stack = _original
                _known.clear()


def unnoted() -> contextlib.AbstractContextManager[None]:
    """Operations that this thread makes keep next to no stack: nobody will ask for it."""
    return remembered_frames(_all, _none, sys._getframe(1))


def _all(file: str) -> bool:
    return True


def _none(code: types.CodeType, around: types.CodeType) -> bool:
    return False


def _extract(f: Any = None, limit: int | None = None) -> traceback.StackSummary:
    inner = sys._getframe(1) if f is None else f
    hidden, parts, outermost = _here.hidden, _here.parts, _here.outermost
    if hidden is None or parts is None:
        return _original(inner, limit)
    if f is not None or limit is not None or _asks(inner, hidden):
        return _original(inner, limit)
    found = _here.found
    found.clear()
    called: list[types.FrameType] = []  # since the user's frame, the innermost first
    users: types.CodeType | None = None
    frame: types.FrameType | None = inner
    while frame is not None:
        code = frame.f_code
        if hidden[code.co_filename]:
            called.append(frame)
        else:
            if users is None or not called or not parts.is_part(users, code):
                _describe(called[-MOST:], found, hidden=True)
                _describe([frame], found, hidden=False)
            users = code
            called.clear()
        frame = None if frame is outermost else frame.f_back
    _describe(called[-1:] if found else called, found, hidden=True)
    found.reverse()
    return found


def _describe(
    frames: list[types.FrameType], found: list[traceback.FrameSummary], *, hidden: bool
) -> None:
    """Add what is said of ``frames`` to ``found``; the text of hidden ones is left out."""
    get = _known.get
    for frame in frames:
        code, line = frame.f_code, frame.f_lineno
        key = id(code), line
        known = get(key)
        if known is None:
            made = _Frame(code.co_filename, line, code.co_name, lookup_line=False, line="")
            made.line = "" if hidden else linecache.getline(code.co_filename, line).strip()
            known = _known[key] = code, made
        found.append(known[1])


def _asks(frame: types.FrameType, hidden: _Hidden) -> bool:
    """Whether Python code has called for the stack; Paddle does so from C++."""
    outer: types.FrameType | None = frame
    while outer is not None and hidden[outer.f_code.co_filename]:
        outer = outer.f_back  # calls of the user's code go through ours
    return any("extract_stack" in each.f_code.co_names for each in (frame, outer) if each)
