"""Tracebacks without the frames of d2s and Paddle."""

from __future__ import annotations

import types

from d2s.diagnostics.location import is_ours


def user_traceback(trace: types.TracebackType | None) -> types.TracebackType | None:
    """``trace`` with the user's frames only; as it is when there would be none left.

    ``D2S_FULL_TRACEBACK=1`` switches the filter off.
    """
    kept: list[types.TracebackType] = []
    step = trace
    while step is not None:
        file = step.tb_frame.f_code.co_filename
        if not is_ours(file):
            kept.append(step)
        step = step.tb_next
    if not kept:
        return trace
    result: types.TracebackType | None = None
    for step in reversed(kept):
        result = types.TracebackType(result, step.tb_frame, step.tb_lasti, step.tb_lineno)
    return result
