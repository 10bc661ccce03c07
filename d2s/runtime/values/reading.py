"""A value that may be unbound, or one of several, where a function reads it or hands it over."""

from __future__ import annotations

import operator
import re
from typing import Any, Final

import paddle

from d2s.errors import AmbiguousValueError, D2SError
from d2s.runtime.trace import current, error_here
from d2s.runtime.values.callbacks import raise_when
from d2s.runtime.values.choice import Choice, bound
from d2s.runtime.values.tree import (
    is_mapping,
    is_plain_sequence,
    is_sequence,
    is_tuple,
    like,
    members,
    refill,
)
from d2s.runtime.values.unbound import UNBOUND


def read(value: object, name: str) -> Any:
    """A variable that some path leaves unbound, read: the run raises where dygraph would."""
    if isinstance(value, Choice) and any(v is UNBOUND for v in value.leaves()):
        missing = value.unbound()
        raise_when(value.holds(lambda side: side is UNBOUND), missing)
        return bound(value)
    return value


def returned(value: object) -> Any:
    """What the user's function returns: a run raises where an attribute in it is missing."""
    if isinstance(value, Choice):
        return read(value, value.name)
    if not (is_plain_sequence(value) or is_tuple(value)):
        return value
    held = members(value)
    items = [returned(item) for item in held]
    if all(map(operator.is_, items, held)):
        return value
    return like(value, items) if is_tuple(value) else refill(value, items)


def subject(value: object) -> Any:
    """The subject of a ``match`` of Python's, which cannot look into several things at once.

    Raises:
        AmbiguousValueError: (D2S203) a tensor decides which of several things it is.
    """
    if isinstance(value, Choice):
        return value.get()
    for item in members(value) if _is_structure(value) else ():
        if isinstance(item, Choice) and any(map(_is_structure, item.leaves())):
            item.get()
    return value


def _is_structure(value: object) -> bool:
    """Whether the patterns of a ``match`` look into it."""
    return is_sequence(value) or is_mapping(value)


def result(value: object) -> Any:
    """The value that leaves a function: some path has surely set it.

    A part of it that the user reads from an attribute may be missing: then the run raises.
    """
    _check_missing(value, None)
    return bound(value)


def seen(variables: dict[str, Any], hidden: str, named: bool) -> Any:
    """What ``locals()`` or ``vars()`` has given, without names of generated code.

    Args:
        variables: that.
        hidden: the names, with spaces between them.
        named: the names alone are wanted, as ``dir()`` gives them.

    Raises:
        AmbiguousValueError: (D2S203) only the run knows whether one of them is bound.
    """
    names = hidden.split()
    found = {key: value for key, value in variables.items() if key not in names}
    for key, value in found.items():
        if isinstance(value, Choice) and any(each is UNBOUND for each in value.leaves()):
            raise error_here(
                AmbiguousValueError,
                f"all variables are asked for, and only the run knows whether {key!r} is one",
                "bind it on both sides of the branch, or name the variables",
            )
    found = {key: value for key, value in found.items() if value is not UNBOUND}
    return sorted(found) if named else found


def _check_missing(value: object, when: paddle.Tensor | None) -> None:
    if not isinstance(value, Choice):
        return
    for side, flag in ((value.true, value.flag), (value.false, ~value.flag)):
        if side is UNBOUND and value.missing is None:
            continue
        holds = flag if when is None else when & flag
        if side is UNBOUND:
            raise_when(holds, value.unbound())
        else:
            _check_missing(side, holds)


_SAID_OF_CHOICES: Final = re.compile(r"\bbut got \[?Choice\b")


def check_taken(error: BaseException) -> None:
    """Look at what a function that stays as it is has raised: whether it was given a choice.

    Raises:
        AmbiguousValueError: (D2S203) it was.
    """
    capture = current()
    if capture is None or capture.refused or isinstance(error, D2SError):
        return
    ours = type(error) in (TypeError, ValueError)  # no class of the user's, with a text of its own
    said = "".join(each for each in error.args if type(each) is str)  # not a text of the run
    if ours and _SAID_OF_CHOICES.search(said):
        raise error_here(
            AmbiguousValueError,
            "a function that stays Python is given a value that may be one of several things, as a "
            f"tensor decides, and says: {said}",
            "give it the same type, dtype and number of dimensions on every path",
        ) from None
