"""Functions of Python that call back: ``map``, ``sorted`` with a key, ``functools.reduce``.

Each takes what gives the function to call in place of the user's as its first argument.
"""

from __future__ import annotations

import functools
import itertools
import operator
import types
from collections.abc import Callable
from typing import Any

import paddle

from d2s.errors import UnsupportedInGraphError
from d2s.runtime.calls.applying import plain
from d2s.runtime.control_flow.cond import ifelse
from d2s.runtime.lists import iteration
from d2s.runtime.lists.positions import Indexed
from d2s.runtime.loops import comprehensions
from d2s.runtime.loops.for_sources import OfGenerator, OfTheRun, Source, Trips
from d2s.runtime.python.generators import handing
from d2s.runtime.python.keys import may_change
from d2s.runtime.trace import current, error_here
from d2s.runtime.values.callbacks import raise_when
from d2s.runtime.values.choice import Choice, each
from d2s.runtime.values.tensors import is_tensor, mark_number
from d2s.runtime.values.tree import any_leaf, flatten, is_plain_sequence

Converting = Callable[[Any], Any]
"""Gives what to call in place of a function."""


def _several(*things: object) -> int | None:
    """Which of ``things`` is one of several, as a tensor has decided."""
    return next(
        (at for at, thing in enumerate(things) if isinstance(thing, Choice) and not thing.single),
        None,
    )


def _apart(run: Callable[..., Any], use: object, *things: object) -> Any:
    """``run(*things)``, which calls ``use``: that changes something for the one that is meant."""
    at = _several(*things)
    if at is None or not may_change(use):
        return run(*things)
    return each(
        lambda found: _apart(run, use, *things[:at], found, *things[at + 1 :]),
        things[at],
        changes=True,
    )


def each_called(call: Converting, callee: Choice, /, *given: Any, **options: Any) -> Any:
    """What one of several functions gives; a ``key`` of ``list.sort`` may change more than them."""
    changes = "key" in options and may_change(options["key"])
    return each(lambda found: call(found)(*given, **options), callee, changes=changes)


def map_(call: Converting, function: object, /, *things: object) -> Any:
    """``map``: of what has a length of the run, a list."""
    use = call(function)
    if _several(*things) is not None and may_change(use):
        whole = things[0] if len(things) == 1 else iteration.zip_(*things)
        one = (lambda item: use(item)) if len(things) == 1 else (lambda item: use(*item))
        return comprehensions.generator(whole, one)
    if any(iteration.indexed(thing) is not None for thing in things):
        whole = iteration.zip_(*things)
        made = comprehensions.list_(whole, lambda parts: use(*parts))
        return iteration.iterator_over(made, map)
    if len(things) == 1 and handing(things[0]) is not None:
        return comprehensions.generator(things[0], lambda item: use(item))
    return iteration.of_several(functools.partial(map, use), *things)


def defaultdict_(
    call: Converting, make: Callable[..., Any], /, *given: object, **named: object
) -> Any:
    """``defaultdict``: what its factory changes is state.

    Args:
        call: see above.
        make: makes the dict.
        given, named: what that is given.
    """
    if given and isinstance(given[0], types.FunctionType):
        call(given[0])
    return make(*given, **named)


def filter_(call: Converting, function: object, things: Any, /) -> Any:
    """``filter``: of tensors, a list whose length the run decides."""
    if _several(things) is not None:
        if function is not None and may_change(use := call(function)):
            return comprehensions.generator(things, lambda item: item, lambda item: use(item))
        return each(functools.partial(filter_, call, function), things)
    if handing(things) is not None:
        use = (lambda item: item) if function is None else call(function)
        return comprehensions.generator(things, lambda item: item, lambda item: use(item))
    if iteration.indexed(things) is None:
        things = iteration.items_of(things)
        if current() is None or not is_plain_sequence(things) or not any(map(is_tensor, things)):
            return filter(None if function is None else call(function), things)
    accept = (lambda item: item) if function is None else call(function)
    made = comprehensions.list_(things, lambda item: item, lambda item: accept(item))
    return iteration.iterator_over(made, filter)


def keyed(call: Converting, operator: Callable[..., Any]) -> Callable[..., Any]:
    """``operator`` with its ``key`` converted."""

    def run(*things: object, key: object = None, **options: object) -> Any:
        if key is None:
            return operator(*things, key=None, **options)
        use = call(key)
        return _apart(functools.partial(operator, key=use, **options), use, *things)

    return run


def ranking(call: Converting, operator: Callable[..., Any]) -> Callable[..., Any]:
    """``operator`` with its third argument, ``key``, converted."""

    def rank(n: object, iterable: object, key: object = None) -> Any:
        if key is None:
            return operator(n, iterable, None)
        use = call(key)
        return _apart(lambda found: operator(n, found, use), use, iterable)

    return rank


def recompute(
    call: Converting, paddles: Callable[..., Any], function: object, *given: Any, **options: Any
) -> Any:
    """``recompute`` while a program is captured.

    As it is by default, as a ``PyLayer``, no gradient goes into a function none of whose arguments
    has one, not even to parameters.
    """
    result = plain(paddles, call)(function, *given, **options)
    inside = options.get("use_reentrant", True)
    if not inside or any_leaf(_has_gradient, [given, options]):
        return result
    leaves, rebuild = flatten(result)
    return rebuild([leaf.detach() if is_tensor(leaf) else leaf for leaf in leaves])


def _has_gradient(leaf: object) -> bool:
    return is_tensor(leaf) and not getattr(leaf, "stop_gradient", True)


def reduce(
    call: Converting, function: object, things: object, /, *others: object, **options: object
) -> Any:
    """``functools.reduce``."""
    if _several(things) is not None:
        again = functools.partial(reduce, call, function)
        return each(
            lambda found: again(found, *others, **options),
            things,
            changes=may_change(call(function)),
        )
    use, found, begun = call(function), iteration.indexed(things), handing(things)
    if begun is not None and others:
        return _folded(use, OfGenerator(begun), others[0])
    if found is None:
        return functools.reduce(use, iteration.items_of(things), *others, **options)
    first, rest = _begun("reduce() of empty iterable with no initial value", found, *others)
    return _folded(use, OfTheRun(rest), first)


def _folded(use: Callable[..., Any], source: Source, result: Any) -> Any:
    """``use`` of ``result`` and an item, again and again."""

    def trip(item: object) -> None:
        nonlocal result
        result = use(result, item)

    source.run(Trips(trip, ("result",)))
    return result


def _accumulated(use: Callable[..., Any], sequence: Indexed, result: object) -> Any:
    """A list of what :func:`_folded` comes to, item by item."""
    made = [result]

    def trip(item: object) -> None:
        nonlocal result
        result = use(result, item)
        made.append(result)

    OfTheRun(sequence).run(Trips(trip, ("result", "made")))
    return made


def _begun(empty: str, found: Indexed, *initial: object) -> tuple[Any, Indexed]:
    """What a reduction begins with, and the items that are left; the run raises for none."""
    if initial:
        return initial[0], found
    raise_when(found.length == 0, TypeError(empty))
    found.begin()
    rest = Indexed(
        mark_number(found.length - 1, int), lambda index: found.item(mark_number(index + 1, int))
    )
    return found.item(mark_number(paddle.full([], 0, "int64"), int)), rest


def accumulate(
    call: Converting, /, iterable: object, func: object = None, *, initial: object = None
) -> Any:
    """``itertools.accumulate``: of what has a length of the run, a list."""
    function = None if func is None else call(func)
    use, found = function or operator.add, iteration.indexed(iterable)
    if found is not None and initial is not None:
        made = _accumulated(use, found, initial)
        return iteration.iterator_over(made, itertools.accumulate)
    if found is not None:
        found.begin()
        whole = Indexed(found.length, found.item)
        made = ifelse(
            whole.length == 0,
            lambda: comprehensions.list_of(whole),
            lambda: _accumulated(use, *reversed(_begun("", whole))),
        )
        return iteration.iterator_over(made, itertools.accumulate)
    if _several(iterable) is not None and may_change(use):
        raise error_here(
            UnsupportedInGraphError,
            "accumulate() calls a function that may change something for one of several things, "
            "as a tensor has decided",
            "write its loop with a for statement",
        )
    return iteration.of_several(
        lambda things: itertools.accumulate(things, function, initial=initial), iterable
    )


def starmap(call: Converting, function: object, things: object, /) -> Any:
    """``itertools.starmap``: of what has a length of the run, a list."""
    if iteration.indexed(things) is not None:
        use = call(function)
        made = comprehensions.list_(things, lambda parts: use(*parts))
        return iteration.iterator_over(made, itertools.starmap)
    use = call(function)
    if _several(things) is not None and may_change(use):
        return comprehensions.generator(things, lambda parts: use(*parts))
    return iteration.of_several(functools.partial(itertools.starmap, use), things)
