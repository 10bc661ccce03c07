"""What can be seen of a failed call: type, message, notes, and the user's frames."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any, NamedTuple

import paddle

from d2s.diagnostics.location import is_ours


class Seen(NamedTuple):
    """One failed call.

    Attributes:
        type: the type of the exception.
        text: its message, without where in Paddle's C++ it comes from.
        frames: line and function of the user's frames, the outermost first.
        hidden: functions of ours and Paddle's among the frames.
        error: the exception.
    """

    type: type
    text: str
    frames: list[tuple[int, str]]
    hidden: list[str]
    error: BaseException

    @property
    def facts(self) -> tuple[type, str, list[tuple[int, str]]]:
        """All that is to be as in dygraph."""
        return self.type, self.text, self.frames


def seen(function: Callable[..., Any], *arguments: Any) -> Seen:
    """What ``function(*arguments)`` raises."""
    try:
        function(*arguments)
    except BaseException as error:
        return seen_in(error)
    raise AssertionError("nothing was raised")


def seen_in(error: BaseException) -> Seen:
    """The same of an exception that was caught by the caller."""
    frames, hidden = [], []
    for frame in traceback.extract_tb(error.__traceback__)[1:]:
        if is_ours(frame.filename):
            hidden.append(frame.name)
        else:
            frames.append((frame.lineno or 0, frame.name))
    return Seen(type(error), words(error), frames, hidden, error)


def words(error: BaseException) -> str:
    """The message, without where in Paddle's C++ it comes from."""
    return str(error).split(" (at /paddle/")[0].rstrip("\n")


def tensor(*values: float, dtype: str = "float32") -> Any:
    """A 1-D tensor."""
    return paddle.to_tensor(list(values), dtype=dtype)


def ints(*values: int) -> Any:
    """A 1-D tensor of int64."""
    return paddle.to_tensor(list(values), dtype="int64")
