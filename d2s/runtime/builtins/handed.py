"""What Python's functions do with a generator that hands its items on (see ``python.generators``).

Each gives another such generator, whose items are handed on where the first one yields: nothing is
asked of the first one earlier or later than Python would.
"""

from __future__ import annotations

import builtins
import itertools
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

from d2s import paddle_bridge as bridge
from d2s.runtime.aliasing.variables import WithClosure
from d2s.runtime.builtins import stepping
from d2s.runtime.control_flow.cond import if_
from d2s.runtime.lists import iteration
from d2s.runtime.lists.iteration import items_of
from d2s.runtime.loops import comprehensions
from d2s.runtime.loops.for_sources import OfGenerator, Trips, source_of
from d2s.runtime.python.generators import Generator, Take, hand_all, handing, hands, sole
from d2s.runtime.python.items import getitem
from d2s.runtime.python.logic import not_, or_
from d2s.runtime.trace import current
from d2s.runtime.values.callbacks import raise_when
from d2s.runtime.values.fields import steps
from d2s.runtime.values.tensors import condition, mark_number
from d2s.runtime.values.tree import is_plain_sequence
from d2s.runtime.values.unbound import UNBOUND


def decided(generator: Generator, stop: bool) -> Any:
    """``any`` (``stop`` is true) or ``all`` of the items, which are asked for until one decides."""
    found: Any = False

    def trip(item: object) -> None:
        def decides() -> None:
            nonlocal found
            found = True

        test = condition(item)
        if_(test if stop else not_(test), decides, None, ("found",))

    OfGenerator(generator).run(Trips(trip, ("found",), lambda: found))
    return found if stop else not_(found)


def next_(iterator: object, /, *default: object) -> Any:
    """``next``, of a generator with which nobody goes on."""
    begun = handing(iterator) if isinstance(iterator, Iterator) else None
    if begun is None:
        return comprehensions.next_(iterator, *default)
    done: Any = False
    first_item: Any = default[0] if default else UNBOUND

    def trip(item: object) -> None:
        nonlocal done, first_item
        done, first_item = True, item

    OfGenerator(begun).run(Trips(trip, ("done", "first_item"), lambda: done))
    if not default and bridge.is_value(done):
        raise_when(not_(done), StopIteration())
        return sole(first_item)
    if not default and not done:
        raise StopIteration
    return first_item


def enumerate_(iterable: object, start: object = 0) -> Any:
    """``enumerate``."""
    begun = handing(iterable)
    if type(start) is not int or begun is None:
        return iteration.enumerate_(iterable, start)

    def run(take: Take) -> None:
        position: Any = start

        def numbered(item: object) -> Any:
            nonlocal position
            index, position = position, _next(position)
            return take((index, item))

        hand_all(begun, numbered)

    return hands((pair for pair in enumerate(begun, start)), run)


def _next(position: Any) -> Any:
    following = position + 1
    return mark_number(following, int) if bridge.is_value(following) else following


def zip_(*things: Any, strict: bool = False) -> Any:
    """``zip``, of one generator beside what has a length."""
    generators = [handing(thing) for thing in things]
    places = [place for place, begun in enumerate(generators) if begun is not None]
    others = [thing for thing, begun in zip(things, generators, strict=True) if begun is None]
    known = all(is_plain_sequence(each) or type(each) is range for each in others)
    place = places[0] if len(places) == 1 and known and not strict else None
    begun = None if place is None else generators[place]
    if begun is None:
        return iteration.zip_(*things, strict=strict)
    before, after = (min(map(len, some), default=None) for some in (others[:place], others[place:]))

    def run(take: Take) -> None:
        position: Any = 0
        done: Any = False

        def beside(item: object) -> Any:
            def taken() -> None:
                nonlocal position, done
                parts = [getitem(each, position) for each in others]
                position = _next(position)
                done = take((*parts[:place], item, *parts[place:]))
                if before is not None:
                    done = or_(done, lambda: position >= before)

            def over() -> None:
                nonlocal done
                done = True

            if_(after is None or position < after, taken, over, ("position", "done"))
            return done

        if before != 0:
            hand_all(begun, beside)

    return hands((parts for parts in zip(*things, strict=False)), run)


def chain(usual: Callable[..., Any], *things: object) -> Any:
    """``itertools.chain``."""
    if all(handing(thing) is None for thing in things):
        return usual(*things)

    def run(take: Take) -> None:
        done: Any = False

        def trip(item: object) -> None:
            nonlocal done
            done = take(item)

        trips = Trips(trip, ("done",), lambda: done)
        for thing in things:
            over = WithClosure(trip, partial(source_of(thing).run, trips), (thing,))
            if_(not_(done), over, None, ("done",))

    def one_by_one() -> Iterator[Any]:
        for thing in things:
            yield from items_of(thing)

    return hands(one_by_one(), run)


def islice(usual: Callable[..., Any], things: object, /, *bounds: object) -> Any:
    """``itertools.islice``, of the first ones of a generator."""
    begun, count = handing(things), bounds[0] if len(bounds) == 1 else None
    if not isinstance(count, int) or begun is None:
        return usual(things, *bounds)

    def run(take: Take) -> None:
        position: Any = 0

        def first(item: object) -> Any:
            nonlocal position
            position = _next(position)
            return or_(take(item), lambda: position >= count)

        if count > 0:
            hand_all(begun, first)

    return hands((item for item in itertools.islice(begun, count)), run)


# -- over iterators in Python (``builtins.stepping``), which a tensor may move --------------------

Converting = Callable[[Any], Any]
"""Gives what to call in place of a function."""


def unwound(call: Converting, things: object) -> Any:
    """An ``enumerate`` or ``zip`` of sequences, which nobody else has, as one in Python.

    Other things as they are.
    """
    reduced: Any = things.__reduce__() if isinstance(things, _KNOWN) else None
    if type(things) in _OF_SEQUENCES:
        return things if any(reduced[2:]) else reduced[1][0]
    if type(things) is enumerate:
        source, start = reduced[1]
        return call(stepping.enumerated)(unwound(call, source), start)
    if type(things) is zip:
        sources = [unwound(call, part) for part in reduced[1]]
        return _zip(call, *sources) if sources else things
    return things


_OF_SEQUENCES: Final[tuple[type, ...]] = (type(iter([])), type(iter(())), type(iter(range(0))))

_KNOWN: Final = (*_OF_SEQUENCES, enumerate, zip)


def _zip(call: Converting, first: object, *others: object) -> Any:
    rows = call(stepping.singles)(first)
    for each in others:
        rows = call(stepping.joined)(rows, each)
    return rows


def _chain(call: Converting, first: object, *others: object) -> Any:
    for each in others:
        first = call(stepping.chained)(first, each)
    return first


def _as_it_is(make: Callable[..., Any]) -> Callable[..., Any]:
    return lambda call, *given, **options: call(make)(*given, **options)


_MADE: Final[dict[Any, tuple[Callable[..., Any], Callable[..., bool]]]] = {
    builtins.enumerate: (_as_it_is(stepping.enumerated), lambda things, start=0: True),
    builtins.filter: (_as_it_is(stepping.filtered), lambda function, things: True),
    builtins.map: (_as_it_is(stepping.mapped), lambda function, things: True),
    builtins.zip: (_zip, lambda *things: True),
    itertools.chain: (_chain, lambda first, second, *others: True),
    itertools.islice: (_as_it_is(stepping.sliced), lambda things, stop: type(stop) is int),
}
"""What makes such an iterator, and whether it is for these arguments."""


def in_steps(call: Converting, usual: dict[Any, Callable[..., Any]]) -> dict[Any, Any]:
    """What stands for the classes of iterators.

    Args:
        call: see above.
        usual: the operators for iterators of Python's.
    """
    return {kind: _either(call, usual[kind], *made) for kind, made in _MADE.items()}


def _either(
    call: Converting,
    usual: Callable[..., Any],
    make: Callable[..., Any],
    fits: Callable[..., bool],
) -> Callable[..., Any]:
    def run(*given: object, **options: object) -> Any:
        capture = current()
        if capture is not None and capture.stepping and any(map(steps, given)):
            try:
                wanted = fits(*given, **options)
            except TypeError:  # arguments of another form
                wanted = False
            if wanted:
                return make(call, *given, **options)
        return usual(*given, **options)

    return run
