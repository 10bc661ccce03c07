"""A variable that is read while it is unbound: local, although a part of its function reads it.

The body of a converted branch or loop is a function inside of the user's; to Python its variables
are those of another function, and it raises ``NameError`` where the original raises
``UnboundLocalError``.
"""

from __future__ import annotations

import sys
import types

from d2s.diagnostics.frames import is_same_function, is_structure
from d2s.diagnostics.location import is_ours
from d2s.runtime.host.callers import parts
from d2s.runtime.values.unbound import unbound_error


def as_local(error: BaseException) -> BaseException:
    """What the original raises in the place of ``error``, which a body has raised.

    To be called by an operator that the user's code has called, while ``error`` is handled.
    """
    if type(error) is not NameError or error.name is None or "free variable" not in str(error):
        return error
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and is_ours(frame.f_code.co_filename):
        frame = frame.f_back
    if frame is None or all(error.name not in part.f_code.co_cellvars for part in parts(frame)):
        return error
    around, entry, step = frame.f_code, None, error.__traceback__
    while step is not None:
        inner = step.tb_frame
        if is_ours(inner.f_code.co_filename):
            entry = entry or inner
        elif inner.f_code is not around:
            thunks = entry is not None and is_structure(entry)
            if not is_same_function(inner.f_code, around, thunks=thunks):
                return error  # a function of the user's own reads it
            around, entry = inner.f_code, None
        step = step.tb_next
    made = unbound_error(error.name).with_traceback(error.__traceback__)
    made.__cause__, made.__suppress_context__ = error.__cause__, True
    return made
