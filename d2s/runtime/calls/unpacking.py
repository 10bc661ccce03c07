"""``f(*things, **options)`` where a tensor decides which of several things is unpacked.

One call is made for each of them, on its own side of a branch::

    f(*pair)       pair is (a, b) or (a, b, c)     ->     cond(flag, f(a, b), f(a, b, c))
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from d2s.runtime.calls.call import call
from d2s.runtime.trace import current
from d2s.runtime.values.choice import Choice, each
from d2s.runtime.values.unbound import UNBOUND


class _Unpacked:
    """What stands behind ``*`` or ``**`` in a call, and is one of several; in place of an argument.

    Attributes:
        either: lists or tuples of different lengths, or dicts with different keys.
    """

    def __init__(self, either: Choice) -> None:
        self.either = either


def unpacked(things: object) -> Any:
    """What stands behind ``*`` in a call."""
    if not isinstance(things, Choice) or things.single:
        return things
    kinds = [type(leaf) for leaf in things.leaves() if leaf is not UNBOUND]
    return [_Unpacked(things)] if set(kinds) <= {list, tuple} else things


def keywords(options: object) -> Any:
    """What stands behind ``**`` in a call."""
    if not isinstance(options, Choice) or options.single:
        return options
    return {f"<keywords {id(options)}>": _Unpacked(options)}


def call_unpacked(function: object) -> Any:
    """:func:`call`, for a call with ``*`` or ``**``: one for each thing that may stand there."""
    found = call(function)
    return found if current() is None else functools.partial(_called, found)


def _called(function: Callable[..., Any], /, *arguments: object, **options: object) -> Any:
    for position, given in enumerate(arguments):
        if isinstance(given, _Unpacked):
            return each(
                functools.partial(_called_with, function, arguments, position, options),
                given.either,
            )
    for name, given in options.items():
        if isinstance(given, _Unpacked):
            return each(
                functools.partial(_called_under, function, arguments, options, name), given.either
            )
    return function(*arguments, **options)


def _called_with(
    function: Callable[..., Any],
    arguments: tuple[object, ...],
    position: int,
    options: dict[str, object],
    found: Iterable[object],
) -> Any:
    before, after = arguments[:position], arguments[position + 1 :]
    return _called(function, *before, *found, *after, **options)


def _called_under(
    function: Callable[..., Any],
    arguments: tuple[object, ...],
    options: dict[str, object],
    name: str,
    found: Mapping[str, object],
) -> Any:
    return _called(function, *arguments, **_put(function, options, name, found))


def _put(
    function: Callable[..., Any], options: dict[str, object], name: str, found: Mapping[str, object]
) -> dict[str, object]:
    """``options`` with those that ``found`` holds in the place of the one called ``name``.

    Raises:
        TypeError: one of them is given already; in the words of ``function``.
    """
    others = {key: value for key, value in options.items() if key != name}
    if others.keys() & set(found):
        function(**others, **found)
    made: dict[str, object] = {}
    for key, value in options.items():
        made |= dict(**found) if key == name else {key: value}
    return made
