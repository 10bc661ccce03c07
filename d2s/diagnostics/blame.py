"""Whose an exception is: the user's code has raised it, or we have a defect.

A converted function does many of the user's operations inside of d2s: what ``items[7]`` raises
comes out of an operator of ours, and is still the user's.  A frame of the parts that only build
programs (the merging of branches, the state of loops, the passes) raises nothing of the user's.
"""

from __future__ import annotations

import dis
import types
from typing import Final

from d2s.diagnostics.location import is_ours
from d2s.errors import D2SError, DefectError

_RAISE: Final = dis.opmap["RAISE_VARARGS"]

_BUILDING: Final = frozenset(
    f"d2s.runtime.{name}"
    for name in [
        "aliasing.holders",
        "aliasing.origins",
        "aliasing.reach",
        "aliasing.slots",
        "aliasing.snapshots",
        "aliasing.variables",
        "aliasing.views.branches",
        "aliasing.views.links",
        "aliasing.views.sharing",
        "control_flow.cond",
        "control_flow.forms.alternatives",
        "control_flow.forms.form",
        "control_flow.guards",
        "control_flow.keeping",
        "control_flow.merge",
        "control_flow.outputs",
        "control_flow.try_",
        "lists.items.likeness",
        "loops.carriers.carrier",
        "loops.carriers.chosen",
        "loops.carriers.constant",
        "loops.carriers.growing",
        "loops.carriers.making",
        "loops.carriers.mismatch",
        "loops.carriers.plans",
        "loops.carriers.structure",
        "loops.carriers.tensor",
        "loops.unread",
        "trace",
        "aliasing.sizes.empties",
    ]
)
"""Operators that do none of the user's operations."""


def is_defect(error: BaseException) -> bool:
    """Whether ``error`` comes out of d2s itself, or of Paddle as d2s has called it.

    Args:
        error: an exception that was caught.

    >>> try:
    ...     exec("[][7]", {"__name__": "users"})
    ... except IndexError as error:
    ...     is_defect(error)
    False
    """
    if isinstance(error, D2SError):
        return isinstance(error, DefectError)
    innermost: types.TracebackType | None = None
    step = error.__traceback__
    while step is not None:
        if not is_paddle(step.tb_frame):
            innermost = step
        step = step.tb_next
    if innermost is None:
        return False
    name = str(innermost.tb_frame.f_globals.get("__name__", ""))
    if not _is_d2s(name):
        return False
    if isinstance(error, AssertionError) and not error.args:  # ours have no message
        return (
            name != "d2s.runtime.control_flow.effects"
        )  # which raises what the user's ``assert`` does
    code = innermost.tb_frame.f_code
    if code.co_code[innermost.tb_lasti] == _RAISE:
        return False  # said on purpose, in Python's words
    return name in _BUILDING or not name.startswith("d2s.runtime.")


def _is_d2s(name: str) -> bool:
    return name == "d2s" or name.startswith("d2s.")


def is_d2s(frame: types.FrameType) -> bool:
    """Whether a frame is of a module of ours."""
    return _is_d2s(str(frame.f_globals.get("__name__", "")))


def is_paddle(frame: types.FrameType) -> bool:
    """Whether a frame is Paddle's, or of the module of ours that stands for Paddle."""
    name = str(frame.f_globals.get("__name__", ""))
    if name.startswith("d2s.paddle_bridge"):
        return True
    return is_ours(frame.f_code.co_filename) and not _is_d2s(name)
