"""The columns of the expression that the user's code is at; for the marker under a line.

Python counts columns in bytes of UTF-8, readers and editors in characters: converted here.
"""

from __future__ import annotations

import linecache
import sys
import types

from d2s.diagnostics.frames import span_of
from d2s.diagnostics.location import is_hidden


def columns_here() -> tuple[int, int] | None:
    """The first column and the one behind the last, in characters, on the present line.

    ``None`` on Python 3.10, whose code has no columns, and where the file cannot be read.
    """
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and is_hidden(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is None:
        return None
    span = span_of(frame.f_code, frame.f_lasti)
    line = linecache.getline(frame.f_code.co_filename, frame.f_lineno).rstrip()
    if span is None or not line:
        return None
    start = in_characters(line, span.column)
    if span.end_line != frame.f_lineno:
        return start, len(line)  # as far as this line goes
    return start, in_characters(line, span.end_column)


def in_characters(line: str, column: int) -> int:
    """A column that is counted in bytes, counted in characters.

    >>> in_characters("é = x", 5)
    4
    """
    return len(line.encode("utf-8")[:column].decode("utf-8", errors="ignore"))
