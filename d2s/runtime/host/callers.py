"""Who calls: the frames of a thread as the user's code has them.

A converted ``if`` or loop runs its body in a function of its own, which an operator calls; a
capture is called by what runs it.  ``warnings.warn(stacklevel=2)`` and ``logging`` count frames,
and mean those that the original would have.
"""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Final

from d2s.diagnostics.frames import is_same_function, is_structure
from d2s.diagnostics.location import is_ours
from d2s.runtime.trace import current

_CALLED: Final = "d2s.program.static_function"
"""Where a captured program is called by the user."""


def parts(frame: types.FrameType) -> Iterator[types.FrameType]:
    """``frame``, and those around it that run the same function of the user's, to the function."""
    while True:
        yield frame
        outer, entry = _beyond(frame.f_back)
        if outer is None or not _is_part(frame, outer, entry):
            return
        frame = outer


def name_of(frame: types.FrameType) -> str:
    """The name of the user's function that ``frame`` runs, or runs a part of."""
    return list(parts(frame))[-1].f_code.co_name


def callers(frame: types.FrameType | None) -> Iterator[types.FrameType]:
    """Frames of the user's and of libraries, from the innermost on; a function's body is one.

    Args:
        frame: where to begin: a frame of ours stands for its caller.
    """
    inner = _beyond(frame)[0]
    while inner is not None:
        yield inner
        inner = _beyond(list(parts(inner))[-1].f_back)[0]


def _beyond(
    frame: types.FrameType | None,
) -> tuple[types.FrameType | None, types.FrameType | None]:
    """The first frame from ``frame`` on that is not ours, and the last of ours before it."""
    capture = current()
    entry = None
    while frame is not None and _is_d2s(frame):
        entry = frame
        outside = frame.f_back
        if capture is not None and frame is capture.entry:  # Paddle's frames are around it
            outside = _outside(frame)
        frame = outside
    return frame, entry


def _outside(frame: types.FrameType | None) -> types.FrameType | None:
    """Who has called the converted function that ``frame`` captures."""
    while frame is not None and _name(frame) != _CALLED:
        frame = frame.f_back
    while frame is not None and _is_d2s(frame):
        frame = frame.f_back
    return frame


def _is_part(inner: types.FrameType, outer: types.FrameType, entry: types.FrameType | None) -> bool:
    """Whether ``inner`` runs a part of the function of ``outer``, which has called ``entry``."""
    thunks = entry is not None and is_structure(entry)
    return is_same_function(inner.f_code, outer.f_code, thunks=thunks)


def _name(frame: types.FrameType) -> str:
    return str(frame.f_globals.get("__name__", ""))


def _is_d2s(frame: types.FrameType) -> bool:
    name = _name(frame)
    return (name == "d2s" or name.startswith("d2s.")) and is_ours(frame.f_code.co_filename)
