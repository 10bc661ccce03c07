"""Comprehensions: Python's, or a static loop, or a list of which the run keeps a part (rule C6).

The iterable decides.  On Python values ``list_`` and ``generator`` do what the comprehension did:
each item is asked for, tested and used in turn.  One whose length the run decides becomes a static
loop that appends.  A filter that is a tensor makes a list whose length the run decides.
"""

from __future__ import annotations

import builtins
import functools
import inspect
import types
import weakref
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import paddle

from d2s import paddle_bridge as bridge
from d2s.diagnostics.notes import note
from d2s.errors import ContainerInGraphError
from d2s.runtime.aliasing.reach import comes_to
from d2s.runtime.aliasing.slots import Cell
from d2s.runtime.aliasing.variables import WithClosure
from d2s.runtime.control_flow.cond import if_, select
from d2s.runtime.lists import iteration
from d2s.runtime.lists.dynamic_list import DynamicList, of_tensor
from d2s.runtime.lists.items.structures import element_of, union
from d2s.runtime.lists.iteration import indexed, items_of
from d2s.runtime.lists.positions import Indexed, check_count
from d2s.runtime.loops.for_sources import (
    OfGenerator,
    OfTheRun,
    Source,
    Trips,
    moved_by,
    source_of,
)
from d2s.runtime.python.generators import Search, Take, expressed, handing, hands, in_python
from d2s.runtime.python.keys import only_look, same_names
from d2s.runtime.python.logic import and_, not_, or_
from d2s.runtime.trace import current, error_here
from d2s.runtime.values.callbacks import raise_when
from d2s.runtime.values.choice import Choice, each
from d2s.runtime.values.tensors import as_value, condition, is_tensor, number_kind
from d2s.runtime.values.tree import is_list_or_tuple, is_tuple, map_children
from d2s.runtime.values.unbound import UNBOUND

Use = Callable[..., Any]
"""The element or the filter of a comprehension, as a function of its target."""


def list_(iter_: Any, element: Use, accept: Use | None = None, names: tuple[str, ...] = ()) -> Any:
    """A list comprehension.

    Args:
        iter_: what is iterated, evaluated.
        element: the element; it takes the items of a tuple apart if it has several parameters.
        accept: the filter.
        names: variables that ``:=`` binds in the two.
    """
    element = _taking(element)
    if accept is not None:
        accept = _taking(accept)
    if current() is None:
        if accept is None:
            return [element(item) for item in iter_]
        return [element(item) for item in iter_ if accept(item)]
    if isinstance(iter_, Choice) and not iter_.single:
        looks = only_look(element, accept)
        alike = same_names(iter_) if looks else None
        if alike is not None:
            return list_(alike, element, accept, names)
        return each(lambda found: list_(found, element, accept, names), iter_, changes=not looks)
    begun = handing(iter_)
    if begun is not None:
        return _grown(OfGenerator(begun), element, accept, names)
    found = indexed(iter_)
    if found is not None:
        return _grown(OfTheRun(found), element, accept, names)
    kept: list[tuple[Any, Any]] = []
    for item in items_of(iter_):
        holds = True if accept is None else condition(accept(item))
        if bridge.is_value(holds):
            kept.append((_where(holds, item, element, names), holds))
        elif holds:
            kept.append((element(item), True))
    note("comprehension", len(kept), f"it goes over a {type(iter_).__name__}")
    if all(holds is True for _, holds in kept):
        return [value for value, _ in kept]
    return _filtered([(value, holds) for value, holds in kept if value is not UNBOUND])


def _taking(use: Use) -> Use:
    """``use`` as a function of one item."""
    count = use.__code__.co_argcount
    if count == 1:
        return use

    def taking(item: object) -> Any:
        return use(*iteration.parts(item, count))

    taking.__wrapped__ = use  # type: ignore[attr-defined]
    return taking


def apart(item: object, use: Use) -> Any:
    """``use`` of the parts of an item that is a tuple itself."""
    return _taking(use)(item)


def _closure_of(use: Use) -> Use:
    """A function with the closure of ``use`` that does nothing."""
    return WithClosure(getattr(use, "__wrapped__", use), lambda: None)


def _grown(source: Source, element: Use, accept: Use | None, names: tuple[str, ...]) -> Any:
    comprehension: list[Any] = []

    def trip(item: object) -> None:
        if accept is None:
            comprehension.append(element(item))
            return

        def body() -> None:
            comprehension.append(element(item))

        if_(accept(item), body, _closure_of(element), ("comprehension", *names))

    others = tuple(_closure_of(use) for use in (element, accept) if use is not None)
    source.run(Trips(trip, ("comprehension", *names), others=others))
    return comprehension


def keys_of(things: object, key: Use) -> Any:
    """``key`` of each thing, by which they are put in order: no gradient goes through that."""

    def alone(part: object) -> Any:
        if is_tensor(part) and number_kind(part) is None:
            return as_value(part).detach()
        return map_children(alone, part) if is_tuple(part) else part

    return list_(things, lambda item: alone(key(item)))


def _where(holds: object, item: object, element: Use, names: tuple[str, ...]) -> Any:
    """The element of ``item``, evaluated only where the filter holds; zeros elsewhere."""
    value: Any = UNBOUND

    def body() -> None:
        nonlocal value
        value = element(item)

    (cell,) = (
        cell
        for name, cell in zip(body.__code__.co_freevars, body.__closure__ or (), strict=True)
        if name == "value"
    )
    Cell(cell).set(UNBOUND)
    if_(holds, body, _closure_of(element), ("value", *names))
    found = Cell(cell).get()
    if isinstance(found, Choice):
        return found.false if found.true is UNBOUND else found.true
    return found


def _filtered(kept: list[tuple[Any, Any]]) -> DynamicList:
    """The values whose flags hold on the run."""
    flags = [paddle.full([], True, "bool") if holds is True else holds for _, holds in kept]
    flags = [paddle.reshape(flag, []) for flag in flags]
    values = _alike([value for value, _ in kept], flags)
    return DynamicList.of(values, "comprehension").where(paddle.stack(flags))


def _alike(values: list[Any], flags: list[Any]) -> list[Any]:
    """``values``; in the place of one that is not kept stand zeros of the shape that others have.

    Only the kept ones have their shape on the run, where the capture does not know it.
    """
    element = functools.reduce(union, map(element_of, values))
    if any(leaf.ragged for leaf in element.leaves):  # each item of the list has a size of its own
        return values
    rows = [element.flatten(value) for value in values]
    for position, leaf in enumerate(element.leaves):
        if -1 not in leaf.shape:
            continue
        column = [row[position] for row in rows]
        target = _largest([paddle.shape(value) for value in column], flags)
        for row, value, flag in zip(rows, column, flags, strict=True):
            row[position] = select(
                flag,
                functools.partial(paddle.assign, value),
                functools.partial(paddle.zeros, target, leaf.dtype),
            )
    return [element.build(row) for row in rows]


def _largest(sizes: list[Any], flags: list[Any]) -> Any:
    """The shape of those whose ``flags`` hold, the larger sizes where they differ; 1s for none."""
    none = paddle.logical_not(paddle.any(paddle.stack(flags)))
    found = [
        paddle.cast(size, "int64") * paddle.cast(flag, "int64")
        for size, flag in zip(sizes, flags, strict=True)
    ]
    return paddle.max(paddle.stack(found), axis=0) + paddle.cast(none, "int64")


def generator(
    iter_: Any,
    element: Use,
    accept: Use | None = None,
    names: tuple[str, ...] = (),
    consumer: str = "",
) -> Any:
    """A generator expression.

    Args:
        iter_, element, accept, names: as for :func:`list_`.
        consumer: the built-in function that it is the only argument of, if any.
    """
    if current() is None:
        return _lazily(iter(iter_), _taking(element), accept and _taking(accept))
    if in_python(iter_) and not (consumer or names):
        return expressed(iter_, _taking(element), accept and _taking(accept))
    iter_ = one_list(iter_)
    if isinstance(iter_, Choice) and not iter_.single:

        def over(found: Any) -> Any:
            return generator(found, element, accept, names, consumer)

        if not only_look(element, accept):
            return _handing(iter_, _taking(element), accept and _taking(accept), names)
        alike = same_names(iter_) if consumer else None
        if alike is not None:
            return over(alike)
        return _FirstOfSeveral(iter_, over) if consumer == "next" else each(over, iter_)
    late = indexed(iter_) is not None and consumer in ("any", "all", "next")
    if names or late or handing(iter_) is not None:  # no item behind the last one asked for
        return _handing(iter_, _taking(element), accept and _taking(accept), names)
    if indexed(iter_) is not None:
        whole = list_(iter_, element, accept, names)
        if isinstance(whole, DynamicList) and not consumer:
            whole.lazy = element, accept
            return iteration.iterator_over(whole, types.GeneratorType)
        return whole
    things = _one_by_one(items_of(iter_))
    take = _taking(element)
    if accept is None:
        return _lazily(things, take, None)
    passes = _taking(accept)
    if consumer == "any":
        return (and_(passes(item), _later(take, item)) for item in things)
    if consumer == "all":
        return (or_(not_(passes(item)), _later(take, item)) for item in things)
    if consumer == "next":
        return Search(things, take, passes)
    if consumer:
        return list_(things, element, accept, names)
    made = _lazily(things, take, lambda item: _decided_now(passes(item)))
    _WHOLE[made] = lambda: list_(things, element, accept, names), (element, accept)
    return made


def _handing(things: object, element: Use, accept: Use | None, names: tuple[str, ...]) -> Any:
    """A generator expression that hands its items on, each where its consumer asks for it."""
    source = source_of(things)

    def run(take: Take) -> None:
        done: Any = False

        def trip(item: object) -> None:
            def body() -> None:
                nonlocal done
                done = take(element(item))

            if accept is None:
                body()
            else:
                if_(accept(item), body, _closure_of(element), ("done", *names))

        others = tuple(_closure_of(use) for use in (element, accept) if use is not None)
        source.run(Trips(trip, ("done", *names), lambda: done, others))

    def passes(item: object) -> bool:
        return accept is None or _decided_now(accept(item))

    late = (item for given in (things,) for item in _one_by_one(items_of(given)))
    return hands(_lazily(late, element, passes), run)


_WHOLE: Final[weakref.WeakKeyDictionary[Any, Any]] = weakref.WeakKeyDictionary()
"""What gives all items of generator expressions with a filter, and their code."""


def whole_of(things: object, owner: object = None) -> Any:
    """A generator expression that a tensor may filter as a list; other things as they are.

    Args:
        things: anything, of which all is wanted.
        owner: what is changed meanwhile, item by item; one that looks into it stays as it is.
    """
    taken = owner is None or isinstance(things, types.GeneratorType)  # or may be put somewhere
    begun = handing(things) if taken else None
    if begun is not None and not (owner is not None and comes_to([begun], owner)):
        return _grown(OfGenerator(begun), lambda item: item, None, ())
    if isinstance(things, Indexed) and things.is_iterator:
        return list_of(things)
    if not isinstance(things, types.GeneratorType) or things not in _WHOLE:
        return things
    make, code = _WHOLE[things]
    started = inspect.getgeneratorstate(things) != inspect.GEN_CREATED
    if started or (owner is not None and comes_to(code, owner)):
        return things
    del _WHOLE[things]
    iteration.moving(things)
    whole = make()
    things.close()
    if isinstance(whole, DynamicList):
        whole.lazy = code
    return whole


@dataclass
class _FirstOfSeveral:
    """What ``next`` takes the first item of, where one of several things is iterated.

    Attributes:
        things: what is iterated.
        over: gives what ``next`` is to be called with for one of them.
    """

    things: Choice
    over: Callable[[Any], Any]


def next_(iterator: object, /, *default: object) -> Any:
    """``next``, also of a generator expression that a tensor filters."""
    if isinstance(iterator, _FirstOfSeveral):
        over = iterator.over
        return each(lambda found: next_(over(found), *default), iterator.things)
    capture = current()
    if isinstance(iterator, Choice) and capture is not None and not capture.blocks:
        return each(lambda found: next_(found, *default), iterator, plainly=True)
    if isinstance(iterator, Indexed) and iterator.is_iterator:
        none, item = iterator.next()
        if default:
            return select(none, lambda: default[0], item)
        raise_when(none, StopIteration())
        return item()
    if not isinstance(iterator, Search):
        return iteration.next_(iterator, *default)
    return iterator.first_or(lambda: default[0]) if default else iterator.first()


def _one_by_one(things: Iterable[Any]) -> Iterator[Any]:
    """An iterator over ``things``, which a branch may move that an item before has opened."""
    moved = [*moved_by(things)]
    if not moved:
        return iter(things)

    def going_on() -> Iterator[Any]:
        left = iter(things)
        while True:
            for each_ in moved:
                iteration.moving(each_)
            try:
                item = next(left)
            except StopIteration:
                return
            yield item

    return going_on()


def _later(use: Use, item: object) -> Callable[[], Any]:
    return lambda: use(item)


def _lazily(things: Iterator[Any], element: Use, accept: Use | None) -> Iterator[Any]:
    if accept is None:
        return (element(item) for item in things)
    return (element(item) for item in things if accept(item))


def _decided_now(test: object) -> bool:
    """The truth of a filter, which must be a Python value here."""
    holds = condition(test)
    if bridge.is_value(holds):
        raise error_here(
            ContainerInGraphError,
            "a tensor filters the items of a generator expression that Python code consumes",
            "write a list comprehension, or hand the generator to sum, any, all, min, max, list, "
            "tuple or sorted at once",
        )
    return bool(holds)


def list_of(things: object = (), /) -> Any:
    """``list``."""
    if isinstance(things, Indexed) and things.whole is not None:
        return things.items()
    things = things if isinstance(things, Indexed) else whole_of(things)
    if isinstance(things, Choice) and not things.single:
        return each(list_of, things)
    if isinstance(things, DynamicList):
        return things.as_list()
    found = indexed(things)
    if found is None:
        return builtins.list(items_of(things))
    if is_tensor(things):
        return of_tensor(as_value(things), "list")
    return list_(found, lambda item: item)


def one_list(things: object) -> Any:
    """One list of the run for one of several, where the run decides the length of some of them.

    Other things as they are.
    """
    if not isinstance(things, Choice) or things.single or current() is None:
        return things
    found = things.leaves()
    if not any(isinstance(leaf, DynamicList) for leaf in found):
        return things
    if not all(isinstance(leaf, DynamicList) or is_list_or_tuple(leaf) for leaf in found):
        return things
    made = list_of(things)
    return made if isinstance(made, DynamicList) else things


def over_one_list(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function``, which is given one list of the run where :func:`one_list` finds one."""

    @functools.wraps(function)
    def run(*things: object, **options: object) -> Any:
        given = {name: one_list(value) for name, value in options.items()}
        return function(*map(one_list, things), **given)

    return run


def tuple_of(things: object = (), /) -> Any:
    """``tuple``."""
    made = list_of(things)
    if isinstance(made, DynamicList):
        return made.d2s_tuple()
    return each(builtins.tuple, made)


def listed(things: object) -> Any:
    """``[*things]``."""
    things = whole_of(things)
    late = isinstance(things, Choice | DynamicList) or indexed(things) is not None
    return list_of(things) if late else [*items_of(things)]


def parted(things: object, before: int, after: int) -> Any:
    """What ``a, *rest, b = things`` binds: the first ones, a list of those between, the last."""
    things = whole_of(things)
    late = isinstance(things, Choice | DynamicList) or indexed(things) is not None
    whole: Any = list_of(things) if late else things
    if isinstance(whole, Choice):
        return each(lambda one: parted(one, before, after), whole)
    if isinstance(whole, DynamicList):
        check_count(whole.length, before + after, None)
        end: Any = whole.length - after
    else:
        (*whole,) = items_of(whole)
        least, end = before + after, len(whole) - after
        if len(whole) < least:
            said = f"not enough values to unpack (expected at least {least}, got {len(whole)})"
            raise ValueError(said)
    ends = [whole[at] for at in (*range(before), *range(-after, 0))]
    return *ends[:before], whole[before:end], *ends[before:]


def tupled(things: object) -> Any:
    """``(*things,)``."""
    things = whole_of(things)
    late = isinstance(things, Choice | DynamicList) or indexed(things) is not None
    return tuple_of(things) if late else (*items_of(things),)
