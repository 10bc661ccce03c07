"""The tables of errors: what a variable is on each side of a branch, before a loop and in it.

Made when an error is made, from values under capture and from the text of the user's function.
Builds nothing in the program, and knows no :class:`Choice`: that one makes its own rows from these.
"""

from __future__ import annotations

import collections
import re
import sys
from collections.abc import Iterable
from typing import Any, Final, TypeVar

from d2s.analysis.assignments import Side, bound_in, moments_of, sides_of
from d2s.analysis.definitions import definitions_of
from d2s.diagnostics.location import Location, here
from d2s.errors import Row
from d2s.runtime.values.tensors import is_tensor, number_kind
from d2s.runtime.values.tree import is_list_or_tuple, is_mapping
from d2s.runtime.values.unbound import UNBOUND
from d2s.syntax.source import function_at

MOST_ROWS: Final = 12
"""A table of more rows helps nobody."""

_LONGEST: Final = 30
_SIDES: Final = (Side("on one side", None), Side("on the other", None))
_MOMENTS: Final = (Side("before the loop", None), Side("after a trip", None))


class Words(str):
    """What a message calls a thing that no variable of the user's holds; it stands in no quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


_OF_OURS: Final = {
    "first_item": "what next() gives",
    "result": "the result",
}
"""Variables of code that d2s has made, and what a message calls what they hold."""


def called(path: str) -> str:
    """What a message calls ``path``.

    >>> f"{called('rows[0]')!r}, {called('result[0]')!r}"
    "'rows[0]', the result"
    """
    words = _OF_OURS.get(re.split(r"[.\[]", path)[0])
    return path if words is None else Words(words)


def row(path: str, side: Side, value: Any) -> Row:
    """What ``path`` is on one side."""
    return Row(path, side.where, *facts_of(value), side.line)


def facts_of(value: Any) -> tuple[str, str, str]:
    """Type, dtype and shape of anything, in words; dtype and shape of tensors only.

    >>> facts_of([1, 2]), facts_of({"a": 1}), facts_of(None), facts_of(3)
    (('list of 2', '', ''), ("dict of 'a'", '', ''), ('None', '', ''), ('int 3', '', ''))
    """
    if number_kind(value) is None and is_tensor(value):
        sizes = [None if size < 0 else size for size in value.shape]
        return "Tensor", str(value.dtype).split(".")[-1], str(sizes)
    return _type_of(value), "", ""


def _type_of(value: Any) -> str:
    kind = number_kind(value)
    if kind is not None:
        return f"{kind.__name__} {value!r}" if type(value) is kind else kind.__name__
    if value is None:
        return "None"
    value = getattr(value, "d2s_container", value)
    name = getattr(type(value), "d2s_words", type(value).__name__)
    if isinstance(value, str):
        return f"{name} {_short(repr(value))}"
    if is_mapping(value):
        return f"{name} of {_short(', '.join(map(repr, value)))}" if value else f"empty {name}"
    return f"{name} of {len(value)}" if is_list_or_tuple(value) else str(name)


def describe(value: object) -> str:
    """A value in words for a message: its type, and dtype and shape of a tensor."""
    if value is None:
        return "None"
    if value is UNBOUND:
        return "unbound"
    kind = number_kind(value)
    if kind is not None:
        return f"a Python {kind.__name__}"
    if is_tensor(value):
        dtype = str(value.dtype).split(".")[-1]
        return f"{'an' if dtype[0] == 'i' else 'a'} {dtype} tensor of shape {list(value.shape)}"
    return f"a {type(getattr(value, 'd2s_container', value)).__name__}"


def listed(words: Iterable[str], joint: str) -> str:
    """Several things in words, alike ones once with their number."""
    counts = collections.Counter(words)
    return joint.join(
        word if count == 1 else f"{word} (one of {count})" for word, count in counts.items()
    )


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def bound_on(name: str) -> str:
    """Where the variable ``name`` gets its values, in words; empty when it is not known."""
    place = here()
    tree = None if place is None else function_at(place.file, place.line)
    if tree is None:
        return ""
    lines = definitions_of(tree).lines.get(re.split(r"[.\[]", name)[0], ())
    if not lines:
        return ""
    return f" (bound on line{'s' if len(lines) > 1 else ''} {', '.join(map(str, lines))})"


def not_reached(places: Iterable[Location], name: str) -> str:
    """Where the unbound variable ``name`` would be bound, in words; empty when it is not known.

    Args:
        places: the branches and loops that some path goes around.
        name: the variable.
    """
    found: dict[int | None, str] = {}
    for place in places:
        tree = function_at(place.file, place.line)
        if tree is None:
            return ""
        for side in bound_in(tree, place.line, name):
            found.setdefault(side.line, f"line {side.line} ({side.where})")
    lines = [found[line] for line in sorted(found, key=lambda line: line or 0)]
    if not lines:
        return ""
    return f"{name!r} is bound on {' or '.join(lines)}, which has not happened on this run"


E = TypeVar("E", bound=BaseException)


def noted(error: E, note: str) -> E:
    """``error`` with a note, which Python 3.11 and later show under the message."""
    if note and sys.version_info >= (3, 11):
        error.add_note(note)
    return error


def sides_at(place: Location | None, path: str) -> tuple[Side, Side]:
    """The sides of the branch at ``place``, and the lines that give ``path`` its value there."""
    tree = None if place is None else function_at(place.file, place.line)
    found = None if tree is None or place is None else sides_of(tree, place.line, path)
    return found or _SIDES


def moments(path: str, before: Any, after: Iterable[Any]) -> list[Row]:
    """What ``path`` is before the loop on the present line, and what a trip makes of it.

    Args:
        path: the variable, or the path to a part of it.
        before: what it is before the loop.
        after: what it may be after a trip.
    """
    place = here()
    tree = None if place is None else function_at(place.file, place.line)
    found = None if tree is None or place is None else moments_of(tree, place.line, path)
    first, second = found or _MOMENTS
    rows = [row(path, first, before), *(row(path, second, value) for value in after)]
    return rows[:MOST_ROWS]
