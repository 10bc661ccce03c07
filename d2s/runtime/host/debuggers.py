"""Debuggers see the user's code: they stop in no other, and their stack has no other frames.

It holds for pdb, and for what else is a ``bdb.Bdb``: a debugger is told so when it is at work while
something is converted or captured, and one that ``breakpoint()`` starts from the beginning.  The
body of a converted branch or loop is a function of its own; it has a line of the stack, with the
variables that it sees, and what is around it has the next one.
"""

from __future__ import annotations

import bdb
import sys
import types
from typing import Any, Final

from d2s import config
from d2s.diagnostics.frames import is_same_function
from d2s.diagnostics.location import is_helper, is_hidden
from d2s.runtime.host.callers import parts
from d2s.runtime.values.objects import is_library

Stack = list[tuple[types.FrameType, int]]


def step_over_ours() -> None:
    """Let a debugger that is at work in this thread, such as ``python -m pdb``, go over our code.

    It stops neither in d2s nor in Paddle, as it does not stop in C in dygraph.
    """
    debugger = getattr(sys.gettrace(), "__self__", None)
    if isinstance(debugger, bdb.Bdb):
        show_users_code(debugger)


def show_users_code(debugger: bdb.Bdb) -> None:
    """Let a debugger stop in the user's code alone, and show no other frames."""
    if "stop_here" in vars(debugger) or config.get().full_traceback:
        return
    stop_here, get_stack = debugger.stop_here, debugger.get_stack
    set_return = debugger.set_return

    def return_of_function(frame: types.FrameType) -> None:
        """To the return of the function, where a part of it is what runs."""
        set_return(list(parts(frame))[-1])

    def users_stack(frame: Any, trace: Any) -> tuple[Stack, int]:
        return _users(*get_stack(frame, trace))

    vars(debugger).update(
        stop_here=lambda frame: not _is_within_ours(frame) and stop_here(frame),
        get_stack=users_stack,
        set_return=return_of_function,
    )


def _users(stack: Stack, current: int) -> tuple[Stack, int]:
    """The frames of the user's and of libraries, and which of them is the current one."""
    if not stack or is_hidden(stack[current][0].f_code.co_filename):
        return stack, current  # who looks into d2s or Paddle wants to see it
    kept: Stack = []
    ours = False
    for index, entry in enumerate(stack):
        code = entry[0].f_code
        inside = ours and (is_helper(code.co_filename) or _is_within_ours(entry[0]))
        if index != current and (is_hidden(code.co_filename) or inside):
            ours = True
            continue
        if index != current and ours and kept and _waits(code, kept[-1][0].f_code):
            continue
        kept.append(entry)
        ours = False
    return kept, next(at for at, entry in enumerate(kept) if entry is stack[current])


def _waits(code: types.CodeType, around: types.CodeType) -> bool:
    """Whether it is of an operand that waits: the line and the variables are those around it."""
    return code.co_name == "<lambda>" and is_same_function(code, around, thunks=True)


def _is_within_ours(frame: types.FrameType | None) -> bool:
    """Whether ``frame`` is of d2s or Paddle, or of a library's function that one of them calls."""
    while frame is not None:
        file = frame.f_code.co_filename
        package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if package == "d2s" or is_hidden(file):
            return True
        if package not in _TOOLS and file != "<string>" and not is_library(file):
            return False
        frame = frame.f_back
    return False


_TOOLS: Final = ("astor", "beniget", "gast")
"""Packages that functions are converted with."""
