"""``f(*things, **options)`` where a tensor decides which things, or how many, are unpacked.

One call is made for each of several things, on its own side of a branch::

    f(*pair)       pair is (a, b) or (a, b, c)     ->     cond(flag, f(a, b), f(a, b, c))

A function that takes any number of arguments is given as many as the run has::

    f(*grown)      def f(first, *others)     ->     f(grown[0], the rest of the list)
"""

from __future__ import annotations

import builtins
import functools
import inspect
import re
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

import paddle

from d2s.diagnostics.location import is_ours
from d2s.runtime.calls.call import call
from d2s.runtime.calls.converter import converter
from d2s.runtime.host.text import HostText
from d2s.runtime.lists.dynamic_list import DynamicList
from d2s.runtime.lists.items.structures import Structure
from d2s.runtime.lists.iteration import indexed, moving
from d2s.runtime.loops.comprehensions import list_, list_of, whole_of
from d2s.runtime.python.texts import join, str_
from d2s.runtime.trace import current
from d2s.runtime.values.choice import Choice, each
from d2s.runtime.values.objects import attribute, is_user_class, stays
from d2s.runtime.values.tensors import mark_number
from d2s.runtime.values.unbound import UNBOUND


class _Unpacked:
    """What stands behind ``*`` or ``**`` in a call, and is one of several; in place of an argument.

    Attributes:
        either: lists or tuples of different lengths, or dicts with different keys.
    """

    def __init__(self, either: Choice) -> None:
        self.either = either


class _Rest:
    """Arguments the number of which the run decides, in the place of the last one.

    Attributes:
        things: a tuple of the run.
    """

    def __init__(self, things: DynamicList) -> None:
        self.things = things


def taken_apart(things: object) -> Any:
    """``things``, which are about to be bound to several names.

    Raises:
        UnsupportedInGraphError: (D2S205) they are an iterator that a branch must not move.
    """
    moving(things)
    return things


def unpacked(things: object) -> Any:
    """What stands behind ``*`` in a call."""
    if current() is None:
        return things
    things = whole_of(things)
    if not isinstance(things, Choice) or things.single:
        of_run = indexed(things) is not None
        return [_Rest(list_of(things).d2s_tuple())] if of_run else taken_apart(things)
    known = (leaf for leaf in things.leaves() if not isinstance(leaf, DynamicList))
    kinds = {type(leaf) for leaf in known if leaf is not UNBOUND}
    if kinds and all(issubclass(kind, Iterator) for kind in kinds):
        return unpacked(list_of(things))
    return [_Unpacked(things)] if kinds <= {list, tuple} else things


def gathered(things: tuple[object, ...]) -> Any:
    """What ``*things`` of a function holds."""
    return things[:-1] + things[-1].things if things and type(things[-1]) is _Rest else things


def keywords(options: object) -> Any:
    """What stands behind ``**`` in a call."""
    if not isinstance(options, Choice) or options.single:
        return options
    return {f"<keywords {id(options)}>": _Unpacked(options)}


def call_unpacked(function: Callable[..., Any]) -> Any:
    """:func:`call`, for a call with ``*`` or ``**``: one for each thing that may stand there."""
    return call(function) if current() is None else functools.partial(_called, function)


def _called(function: Callable[..., Any], /, *arguments: object, **options: object) -> Any:
    for position, given in enumerate(arguments):
        if isinstance(given, _Unpacked):
            use = functools.partial(_called_with, function, arguments, position, options)
            return each(use, given.either, changes=True)
    for name, given in options.items():
        if isinstance(given, _Unpacked):
            use = functools.partial(_called_under, function, arguments, options, name)
            return each(use, given.either, changes=True)
    for position, given in enumerate(arguments):
        if isinstance(given, _Rest):
            rest = gathered(arguments[position : position + 1])
            for more in arguments[position + 1 :]:
                rest = rest + (more.things if isinstance(more, _Rest) else (more,))
            return _with_rest(function, arguments[:position], rest, options)
    return call(function)(*arguments, **options)


def _called_with(
    function: Callable[..., Any],
    arguments: tuple[object, ...],
    position: int,
    options: dict[str, object],
    found: Iterable[object],
) -> Any:
    before, after = arguments[:position], arguments[position + 1 :]
    return _called(function, *before, *unpacked(found), *after, **options)


def _called_under(
    function: Callable[..., Any],
    arguments: tuple[object, ...],
    options: dict[str, object],
    name: str,
    found: Mapping[str, object],
) -> Any:
    return _called(function, *arguments, **_put(function, options, name, found))


def _with_rest(
    function: Callable[..., Any],
    before: tuple[object, ...],
    rest: DynamicList,
    options: dict[str, object],
) -> Any:
    """``function(*before, *rest, **options)``: a call for each number of items that it names."""
    names, whole = _taking(function, before, rest, options)

    def of(count: int) -> Any:
        if count == names:
            return whole()
        return call(function)(*before, *(rest[at] for at in range(count)), **options)

    count: Any = names
    for fewer in reversed(range(names)):
        count = Choice(rest.length == fewer, fewer, count)
    return each(of, count, exact=True, changes=True)


def _taking(
    function: Callable[..., Any],
    before: tuple[object, ...],
    rest: DynamicList,
    options: dict[str, object],
) -> tuple[int, Callable[[], Any]]:
    """How many items of ``rest`` a function names at most, and the call with at least so many."""
    if function is builtins.print:
        texts, between = list_(before + rest, lambda item: str_(item)), options.get("sep")
        shown = join(between if isinstance(between, str) else " ", texts)
        return 0, lambda: call(print)(shown, **options)
    if function is builtins.zip:
        return 0, lambda: _transposed(before + rest)
    if function in (builtins.max, builtins.min):
        return max(2 - len(before), 0), lambda: call(function)(list_of(before + rest), **options)
    kinds = [each_.kind for each_ in _parameters(function, rest)]
    first = max(sum(kind in _POSITIONAL for kind in kinds) - len(before), 0)

    def gather() -> Any:
        named = [rest[at] for at in range(first)]
        return call(function)(*before, *named, _Rest(rest[first:]), **options)

    if inspect.Parameter.VAR_POSITIONAL in kinds:
        if not _gathers(function):
            iter(rest)  # which is refused
        return first, gather

    def too_many() -> Any:
        try:
            return call(function)(*before, *(rest[at] for at in range(first + 2)), **options)
        except TypeError as error:
            told = _GIVEN.search(str(error))
            if told is None:
                raise
            given = mark_number(rest.length + (int(told[1]) - first - 2), int)
            start, end = told.span(1)
            said = str(error)
            raise TypeError(HostText((said[:start], (given, "s", ""), said[end:]))) from None

    return first + 2, too_many


_GIVEN: Final = re.compile(r"(\d+)(?: positional arguments?)?(?: \(.*\))? were given")
"""Where Python says with how many arguments a function was called."""

_POSITIONAL: Final = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
)


def _parameters(callee: Callable[..., Any], rest: DynamicList) -> list[inspect.Parameter]:
    """What ``callee`` takes.

    Raises:
        ContainerInGraphError: (D2S207) nobody knows.
    """
    function, bound = _function_of(callee)
    try:
        signature = inspect.signature(function or callee, follow_wrapped=False)
    except (TypeError, ValueError):
        iter(rest)  # which is refused
        raise
    return list(signature.parameters.values())[bound:]


def _function_of(callee: object) -> tuple[types.FunctionType | None, int]:
    """The user's function that runs, and how many arguments it is given besides those of a call."""
    if isinstance(callee, paddle.nn.Layer):
        callee = callee.forward
    if isinstance(callee, type):
        found = attribute(callee, "__init__") if is_user_class(callee) else None
    else:
        found = getattr(callee, "__func__", callee)
    if not isinstance(found, types.FunctionType):
        return None, 0
    plain = inspect.unwrap(found, stop=lambda each_: not is_ours(each_.__code__.co_filename))
    return plain, int(found is not callee)


def _gathers(callee: object) -> bool:
    """Whether what has ``*things`` is converted, and begins with :func:`gathered`."""
    if isinstance(callee, functools.partial):
        return _gathers(callee.func)
    function, _ = _function_of(callee)
    if function is None or stays(function):
        return False
    return gathered.__name__ in converter().convert(function).__code__.co_names


def _transposed(rows: DynamicList) -> Any:
    """``zip(*rows)``: a tuple of the run for each place in a row, and none of no row."""
    element = rows.element
    if not isinstance(element, Structure) or element.kind in (dict, HostText):
        iter(rows)  # which is refused
    assert isinstance(element, Structure)
    leaves, columns = iter(rows.need_rows()), []
    for part in element.parts:
        made = DynamicList.of_rows(rows.name, part, [next(leaves) for _ in part.leaves])
        made.shared = part.has_mutable or part.has_objects  # the rows know them, too
        columns.append(made.d2s_tuple())
    return Choice(rows.length > 0, tuple(columns), (), "zip")


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
