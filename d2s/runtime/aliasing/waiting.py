"""Operands that wait for a call in which another container comes in the place of the one they are.

A list that a branch leaves with two lengths becomes another object, and whoever holds it is given
that (``aliasing.holders``).  Python's own stack holds it, too, where nothing can be put::

    if c: rows.append(x)        in grow(rows): rows is one of two lists from here on
    pair(rows, grow(rows))      the first operand is the list as it was

So that is refused.  A second capture, of code that binds such operands to variables
(``passes.expressions.operands``), knows only those that no statement can come before.
"""

from __future__ import annotations

import sys
import types

import paddle

from d2s.diagnostics.location import is_ours
from d2s.errors import ContainerInGraphError
from d2s.runtime.aliasing.holders import OUTSIDE, OneOf, holders_where, sames
from d2s.runtime.trace import current, error_here
from d2s.runtime.values.choice import Choice
from d2s.runtime.values.fields import attributes_of, is_object
from d2s.runtime.values.tensors import as_value
from d2s.syntax.waiting import UNKNOWN, operands


class WaitingError(ContainerInGraphError):
    """An operand that waits for a call may be a container in the place of which comes another.

    No variable has it, so nothing can bind it anew.  A capture in which operands are bound to
    variables has none.
    """


def check_waiting(*forms: object) -> None:
    """Refuse to put a container in the place of another one that an operand may be.

    Args:
        *forms: the container, and what it has become or becomes.

    Raises:
        WaitingError: (D2S207) an operand may be it: ``rows`` in ``pair(rows, grow(rows))``.
    """
    capture = current()
    frame: types.FrameType | None = sys._getframe(1)
    one_of = OneOf([part for each in forms for part in _leaves_of(each)])
    while frame is not None and capture is not None and frame is not capture.entry:
        if not is_ours(frame.f_code.co_filename):
            paths = operands(frame)
            if any(_may_be(path, frame, one_of) for path in paths):
                raise error_here(
                    WaitingError,
                    "a list, dict or set gets another length or other keys in a call, as a tensor "
                    "decides, while an operand of the same expression waits that may be it",
                    "call the function in a statement of its own, before the expression",
                )
        frame = frame.f_back


def note_waiting(old: paddle.Tensor) -> None:
    """Note that an operand may be the tensor ``old``, which is about to be written into.

    What reads it behind the write is looked for when the capture is over (``capture.views``).
    """
    capture = current()
    frame: types.FrameType | None = sys._getframe(1)
    one_of = OneOf(sames(old))
    while frame is not None and capture is not None and frame is not capture.entry:
        if not is_ours(frame.f_code.co_filename) and any(
            path == UNKNOWN or _may_be(path, frame, one_of) for path in operands(frame)
        ):
            value = as_value(old)
            capture.notes.waited[value.id] = value
            return
        frame = frame.f_back


def _leaves_of(form: object) -> list[object]:
    return form.leaves() if isinstance(form, Choice) else [form]


def _may_be(path: str, frame: types.FrameType, one_of: OneOf) -> bool:
    """Whether the operand that ``path`` says may be, or be a tuple with, one of some containers."""
    if path == UNKNOWN:
        return any(
            holder.function == OUTSIDE or _is_around(frame, holder.owner)
            for holder in holders_where(one_of.is_in)
        )
    name, *names = path.split(".")
    value = frame.f_locals.get(name, frame.f_globals.get(name))
    for each in (*names, ""):
        parts = value if type(value) is tuple else (value,)
        if any(map(one_of.is_in, parts)):
            return True
        value = attributes_of(value).get(each) if is_object(value) else None
    return False


def _is_around(frame: types.FrameType | None, owner: types.FrameType | None) -> bool:
    """Whether ``owner`` is ``frame``, or one that has called it."""
    while frame is not None:
        if frame is owner:
            return True
        frame = frame.f_back
    return False
