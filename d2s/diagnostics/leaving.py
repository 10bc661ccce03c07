"""What an exception is made into where it leaves d2s for the user's code."""

from __future__ import annotations

import contextlib
import functools
import traceback
from collections.abc import Callable
from typing import Any, TypeVar, cast

import paddle

from d2s import config
from d2s.diagnostics.defects import defect_of
from d2s.diagnostics.location import here
from d2s.diagnostics.tracebacks import VALUE, show_users_frames
from d2s.errors import D2SError, DefectError

F = TypeVar("F", bound=Callable[..., Any])


def leave(error: BaseException) -> None:
    """Let ``error`` speak of the user's code alone, unless it is a defect of ours.

    To be called while it is handled, before ``raise`` alone.  A coded error without a place gets
    the line of the call.

    Raises:
        DefectError: (D2S902) nobody has foreseen ``error``; it is the cause.
    """
    if isinstance(error, D2SError) and error.file is None:
        place = here()
        if place is not None:
            error.file, error.line = place.file, place.line
    if paddle.in_dynamic_mode():
        _forget_values(error)
    defect = defect_of(error)
    if defect is not None:
        defect.untouched = getattr(error, "untouched", False)
        defect.said = said_before(error)
        raise defect
    if not config.get().full_traceback and not isinstance(error, DefectError):
        show_users_frames(error)


def _forget_values(error: BaseException) -> None:
    """Take the values of a program that is gone out of ``error`` and what is behind it.

    Paddle ends the process when such a value is shown, and so would a traceback that says "during
    handling of the above exception".
    """
    pending, seen = [error], set[int]()
    while pending:
        each = pending.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        object.__setattr__(each, "args", _without_values(each.args))
        vars(each).update(_without_values(dict(vars(each))))
        pending += [other for other in (each.__cause__, each.__context__) if other is not None]


def _without_values(thing: Any) -> Any:
    """``thing`` with a word for each value of a program in it; itself where there is none."""
    with contextlib.suppress(TypeError, ValueError, RecursionError):  # keys that have no order
        if any(map(_is_value, paddle.utils.flatten(thing))):
            return paddle.utils.map_structure(
                lambda leaf: "a tensor of the program" if _is_value(leaf) else leaf, thing
            )
    return thing


def _is_value(leaf: object) -> bool:
    return f"{type(leaf).__module__}.{type(leaf).__name__}" == VALUE


def mark_untouched(error: BaseException, said: list[tuple[str, str]] | None = None) -> None:
    """Note on ``error`` that the call which it ends might as well not have been begun.

    Args:
        error: the exception.
        said: what it has printed all the same.
    """
    with contextlib.suppress(AttributeError, TypeError):  # a class of the user's, with slots
        error.said = said or None  # type: ignore[attr-defined]
        error.untouched = True  # type: ignore[attr-defined]


def is_untouched(error: BaseException) -> bool:
    """Whether that is noted."""
    return bool(getattr(error, "untouched", False))


def said_before(error: BaseException) -> list[tuple[str, str]] | None:
    """What that call has printed all the same."""
    found: list[tuple[str, str]] | None = getattr(error, "said", None)
    return found


def forget_untouched(error: BaseException) -> None:
    """Take the note off an exception that the user is to see as dygraph raises it."""
    for name in ("untouched", "said"):
        vars(error).pop(name, None)


def forget_frames(error: BaseException) -> None:
    """Let go of the variables of a call that ``error`` has ended and that nobody is told of.

    Those of the user's would live until the next garbage collection, as a variable of the call
    holds ``error`` itself.
    """
    traceback.clear_frames(error.__traceback__)
    error.__traceback__ = None


def leaving(function: F) -> F:
    """``function``, called by the user, with its errors made so."""

    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        try:
            return function(*arguments, **options)
        except BaseException as error:
            leave(error)
            raise

    return cast(F, call)
