"""How a variable is said to change its form in a loop: in words, and as a table."""

from __future__ import annotations

from collections.abc import Callable

from d2s.errors import D2SError
from d2s.runtime.aliasing.snapshots import Frozen, container_of
from d2s.runtime.host.text import HostText
from d2s.runtime.lists.dynamic_list import DynamicList
from d2s.runtime.trace import error_here
from d2s.runtime.values.choice import Choice
from d2s.runtime.values.objects import is_list
from d2s.runtime.values.tables import called, describe, moments
from d2s.runtime.values.tree import is_mapping


def mismatch(
    kind: Callable[..., D2SError],
    cause: str,
    cure: str,
    path: str,
    sides: tuple[object, object],
) -> D2SError:
    """A refusal, with the table of what ``path`` is before the loop, and what a trip makes of it.

    Args:
        kind, cause, cure: see :func:`d2s.runtime.trace.error_here`.
        path: the variable.
        sides: what it is before the loop, and behind a trip.
    """
    before, after = sides
    cause, cure = (said.replace(repr(path), repr(called(path))) for said in (cause, cure))
    found = after.leaves() if isinstance(after, Choice) else [after]
    return error_here(kind, cause, cure, moments(called(path), _shown(before), map(_shown, found)))


def in_words(value: object) -> str:
    """What a variable is, for messages."""
    if isinstance(value, Choice):
        return "one of several things, and another one in each trip"
    if isinstance(value, HostText):
        return "text that contains a tensor, and grows or changes its form"
    return describe(container_of(value))


class _OpenList:
    """What stands for a growing list in a table."""

    d2s_words = "list of open length"


def _shown(value: object) -> object:
    """A value as a table shows it: a snapshot as a container with its items."""
    container = container_of(value)
    if isinstance(container, DynamicList):
        return _OpenList()
    if not isinstance(value, Frozen):
        return value
    if is_mapping(container):
        return value.by_key()
    return list(value.items) if is_list(container) else container
