"""What a ``for`` goes over, one class for each: Python values, and what the run measures (C1, C5).

=====================  ============================================================================
:class:`OfTheRun`      a tensor of open length, a range with tensors as bounds, a list of the run:
                       one static loop, with an index that the program counts
:class:`OneOfSeveral`  a tensor has chosen what is iterated: a branch with a loop on each side
:class:`PythonValues`  the trips are captured one by one; behind a ``break`` that the run decides
                       the items that are left become a static loop, if they have numbers
:class:`OfGenerator`   a generator that nobody has begun: its body runs, with a trip in the place of
                       each ``yield``
:class:`Cycle`,        those iterators behind such a ``break``: nobody but the run ends them
:class:`Count`
=====================  ============================================================================
"""

from __future__ import annotations

import inspect
import itertools
import types
from collections.abc import Callable, ItemsView, Iterable, Iterator, KeysView, ValuesView
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Protocol

import paddle

from d2s import paddle_bridge as bridge
from d2s.errors import UnsupportedInGraphError
from d2s.runtime.aliasing.holders import holders_of
from d2s.runtime.aliasing.slots import Held, Slot
from d2s.runtime.aliasing.variables import State, WithClosure
from d2s.runtime.control_flow.cond import decide, if_
from d2s.runtime.host.ahead import (
    counted,
    counts_behind,
    is_ahead,
    is_count,
    takes_ahead,
    undecided,
)
from d2s.runtime.lists.iteration import indexed, items_of
from d2s.runtime.lists.positions import Indexed, stuck
from d2s.runtime.loops.rolling import (
    FEW,
    Attempt,
    hold_values,
    is_still,
    lists_behind,
    sequence,
    sources_of,
)
from d2s.runtime.loops.unrolling import GUARDED, check_trips, deeper, items_of_list
from d2s.runtime.loops.while_loop import WhileLoop
from d2s.runtime.python.generators import Generator, hand_all, handing
from d2s.runtime.python.logic import and_, not_
from d2s.runtime.python.picking import picked
from d2s.runtime.trace import current, error_here, open_trace
from d2s.runtime.values.choice import Choice
from d2s.runtime.values.fields import is_object
from d2s.runtime.values.objects import attribute
from d2s.runtime.values.tensors import (
    NUMBER_DTYPES,
    as_value,
    condition,
    is_tensor,
    mark_number,
    number_kind,
    number_value,
)
from d2s.runtime.values.tree import is_plain_sequence

ENDLESS = 2**62
"""The length of what only the run ends."""


@dataclass
class Trips:
    """What a ``for`` does with its items.

    Attributes:
        body: one trip, given the item.
        names: the state that the trips change and somebody reads.
        stop: whether a ``break`` has happened, asked after each trip.
        others: functions that run in the trips, too.
    """

    body: Callable[..., object]
    names: tuple[str, ...]
    stop: Callable[[], object] | None = None
    others: tuple[Callable[..., object], ...] = field(default=())

    def state(self, items: Iterable[object] = ()) -> State:
        """What they change, given these items."""
        body = WithClosure(self.body, self.body, items)
        return State(self.names, body, self.stop, *self.others)

    def stopped(self) -> Any:
        """Whether a ``break`` has happened: a bool, or a bool value."""
        return False if self.stop is None else condition(self.stop())


class Source(Protocol):
    """What a ``for`` goes over."""

    def run(self, trips: Trips) -> None:
        """The whole loop."""


def source_of(iter_: object) -> Source:
    """What ``iter_`` is as the source of a ``for``."""
    if isinstance(iter_, Choice) and not iter_.single:
        return OneOfSeveral(iter_)
    begun = _begun(iter_)
    generator = handing(iter_ if begun is None else begun)
    if generator is not None:
        return OfGenerator(generator)
    measured = indexed(iter_)
    return PythonValues(iter_, begun) if measured is None else OfTheRun(measured)


def _begun(thing: object) -> object:
    """What the ``__iter__`` of the user's gives for an object, unless that is a generator."""
    method = attribute(type(thing), "__iter__")
    if current() is None or isinstance(thing, Iterator) or not is_object(thing):
        return None
    if not isinstance(method, types.FunctionType):
        return None
    return None if inspect.isgeneratorfunction(inspect.unwrap(method)) else iter(method(thing))


class OneOfSeveral:
    """One of several things that may be iterated, as a tensor has decided."""

    def __init__(self, choice: Choice) -> None:
        self.choice = choice

    def run(self, trips: Trips) -> None:
        """A branch, with a loop on each side."""

        def over(side: object) -> Callable[[], object]:
            return WithClosure(trips.body, lambda: source_of(side).run(trips), _known_items(side))

        def holds() -> object:
            return items  # which the trips may change

        choice = self.choice
        items = [_held_by(leaf) for leaf in choice.leaves()]
        state = State(trips.names, over(choice.true), over(choice.false), holds)
        decide(choice.flag, over(choice.true), over(choice.false), state)


def _held_by(thing: object) -> list[object]:
    """What a loop over ``thing`` finds, as far as Python tells without going on."""
    if isinstance(thing, ValuesView | ItemsView):
        return [*thing]
    return [thing, *lists_behind(thing)]


class _Counter(Slot):
    """The hidden index of a ``for`` over something that the run measures."""

    def __init__(self) -> None:
        self.value: Any = mark_number(paddle.full([], 0, "int64"), int)

    def get(self) -> Any:
        return self.value

    def set(self, value: Any) -> None:
        self.value = value


class OfTheRun:
    """Something whose length the run decides."""

    def __init__(self, items: Indexed) -> None:
        self.items = items

    def run(self, trips: Trips) -> None:
        """One static loop over the indices."""
        self.items.begin()
        counter = _Counter()

        def test() -> object:
            more = counter.value < self.items.length
            return more if trips.stop is None else and_(not_(trips.stop()), lambda: more)

        def trip() -> None:
            index = counter.value
            trips.body(self.items.item(index))
            counter.value = mark_number(index + 1, int)

        state = trips.state()
        state.add("<index>", counter)
        for each in self.items.lists:
            state.add(each.name, Held(each, each.name))
        holds = condition(test())
        if not bridge.is_value(holds):  # a break before the first trip cannot be
            return
        WhileLoop(holds, test, trip, state).capture()


class PythonValues:
    """Python values, whose trips are captured one after the other (C1).

    Attributes:
        iter_: what is iterated.
        iterator: gives the items that are left.
        depth: how many trips stand inside of each other, or follow an open ``break``.
        done: how many trips there were.
        attempt: the attempt to do without that.
        tried: it was made.
        waits: around the next item, where a ``break`` is open that the run decides.
    """

    def __init__(self, iter_: Any, begun: object = None) -> None:
        self.iter_ = iter_
        found = items_of(iter_ if begun is None else begun)
        watched = current() is not None and type(found) is list
        self.iterator: Iterator[object] = items_of_list(found) if watched else iter(found)
        self.depth = 0
        self.done = 0
        self.attempt = Attempt()
        self.tried = False
        self.waits: Callable[[], AbstractContextManager[None]] = nullcontext

    def run(self, trips: Trips) -> None:
        """The items that are left; the program has not broken out of the loop."""
        sized = hasattr(self.iter_, "__len__")
        stopped: Any = False
        for item in self._left():
            self.done += 1
            check_trips(self.done, "for")
            if bridge.is_value(stopped):
                # The rest of a Python loop runs unless the program has broken out of it.
                if not sized:
                    self.depth = deeper(self.depth, self.attempt)
                if_(~stopped, _bound(trips.body, item), None, trips.names)
            else:
                trips.body(item)
            stopped = trips.stopped()
            if bridge.is_value(stopped):
                if self._finished(stopped, trips):
                    return
                self.waits = undecided
            elif stopped:
                return

    def why(self) -> str:
        """Why the trips stand one after the other; of one static loop nothing is to be said."""
        if not self.tried:
            return f"it goes over a {type(self.iter_).__name__}"
        found = self.attempt.reason
        return "" if found is None else next(iter(str(found).splitlines()), type(found).__name__)

    def _finished(self, stopped: paddle.Tensor, trips: Trips) -> bool:
        """Whether all that is left behind a ``break`` that the run decides has been captured."""
        _check_iterator(self.iter_)
        rest = _endless(self.iter_, self.iterator)
        if rest is not None:
            decide(~stopped, lambda: rest.run(trips), None, trips.state())
            return True
        if not self.tried and self._rolled(trips):
            return True
        state = trips.state(self._ahead())
        if hold_values(state) and not takes_ahead(self.iter_):
            return False
        self.depth = deeper(self.depth, self.attempt)
        decide(~stopped, lambda: self.run(trips), None, state)
        return True

    def _left(self) -> Iterator[object]:
        """The items; :meth:`_numbered_rest` may put another iterator in the place of the first."""
        while True:
            try:
                with self.waits():
                    item = next(self.iterator)
            except StopIteration:
                return
            yield item

    def _ahead(self) -> Iterable[object]:
        """The items that are left, or what gives them."""
        if type(self.iter_) is list:
            return self.iter_[self.done :]
        if not is_still(self.iter_):
            return (self.iterator,)
        items = list(self.iterator)
        self.iterator = iter(items)
        return items

    def _rolled(self, trips: Trips) -> bool:
        """Whether the items that are left have become one static loop."""
        self.tried = True
        trace = open_trace()
        if not (trace.rolls and is_still(self.iter_)):
            return False
        lists = lists_behind(self.iter_)
        lengths = [len(each) for each in lists]
        rest = self._numbered_rest()
        if rest is None:
            return False

        def body(item: object) -> None:
            trips.body(item)
            for each, length in zip(lists, lengths, strict=True):
                if len(each) != length or id(each) in trace.grown:
                    trace.needs_python()  # the list is changed while it is iterated

        source = OfTheRun(rest)
        whole = Trips(WithClosure(trips.body, body), trips.names, trips.stop)
        return self.attempt.succeeds(lambda: source.run(whole))

    def _numbered_rest(self) -> Indexed | None:
        """The items that are left, by the number of their trip."""
        done = self.done
        if is_tensor(self.iter_):
            rows = as_value(self.iter_)
            count = int(rows.shape[0]) - done
            if count <= FEW:
                return None
            return Indexed(number_value(count), lambda index: rows[index + done])
        if is_plain_sequence(self.iter_) or type(self.iter_) is range:
            return sequence(self.iter_[done:])
        if isinstance(self.iter_, KeysView | ValuesView | ItemsView):
            return sequence(list(self.iter_)[done:])
        items = list(self.iterator)
        self.iterator = iter(items)
        return sequence(items)


class OfGenerator:
    """A generator that nobody has begun."""

    def __init__(self, generator: Generator) -> None:
        self.generator = generator

    def run(self, trips: Trips) -> None:
        """The generator's body, with a trip in the place of each ``yield``."""
        body, stop = trips.body, trips.stop

        def take(item: object) -> Any:
            body(item)
            return False if stop is None else condition(stop())

        hand_all(self.generator, take)


class Cycle:
    """The rest of ``itertools.cycle``: a static loop over one turn of it."""

    def __init__(self, iterator: Iterator[object]) -> None:
        ahead = [next(iterator) for _ in range(2 * GUARDED)]
        turn = next(
            (
                size
                for size in range(1, GUARDED + 1)
                if all(a is b for a, b in zip(ahead, ahead[size:], strict=False))
            ),
            None,
        )
        if turn is None:
            deeper(GUARDED)
        self.items, self.length = ahead[:turn], number_value(ENDLESS)

    def run(self, trips: Trips) -> None:
        """All that the run wants."""
        items = self.items
        one = Indexed(self.length, lambda index: picked(items, index % len(items)))
        OfTheRun(one).run(trips)


class Counting:
    """The rest of an ``itertools.count`` whose position the program knows."""

    def __init__(self, count: Iterator[Any]) -> None:
        self.count = count

    def run(self, trips: Trips) -> None:
        """All that the run wants."""
        body = WithClosure(trips.body, trips.body, (self.count,))
        one = Indexed(number_value(ENDLESS), lambda index: counted(self.count))
        OfTheRun(one).run(Trips(body, trips.names, trips.stop))


class Count:
    """The rest of ``itertools.count`` of other things than Python numbers."""

    def __init__(self, iterator: Iterator[Any]) -> None:
        self.first, second = next(iterator), next(iterator)
        self.step = second - self.first
        self.kind = number_kind(second)
        self.length = number_value(ENDLESS)

    def _item(self, index: paddle.Tensor) -> object:
        if self.kind is None:
            return self.first + index * self.step
        dtype = NUMBER_DTYPES[self.kind]
        return mark_number(paddle.cast(index, dtype) * self.step + self.first, self.kind)

    def run(self, trips: Trips) -> None:
        """All that the run wants."""
        OfTheRun(Indexed(self.length, self._item)).run(trips)


def _endless(iter_: object, iterator: Iterator[Any]) -> Source | None:
    """What is left of an iterator of Python's that never ends."""
    if is_count(iter_):
        return Counting(iter_)
    if isinstance(iter_, itertools.count):
        return Count(iterator)
    if is_ahead(iter_):
        return None
    return Cycle(iterator) if isinstance(iter_, itertools.cycle) else None


def _check_iterator(iter_: object) -> None:
    """Refuse an iterator of which only the run knows how far it has come, if it is used again."""
    if is_count(iter_) or is_ahead(iter_):
        return
    if any(holder.live for part in moved_by(iter_) for holder in holders_of(part)):
        stuck(iter_)
        raise error_here(
            UnsupportedInGraphError,
            "a break that a tensor decides leaves an iterator somewhere in its middle, and it is "
            "used again",
            "iterate over a list, and keep the position as a number",
        )


def moved_by(thing: object) -> Iterator[object]:
    """The iterators that move when an item is taken from ``thing``."""
    if isinstance(thing, Iterator):
        yield thing
        yield from counts_behind(thing)
    if type(thing) in (enumerate, zip):
        for part in sources_of(thing):
            yield from moved_by(part)


def _known_items(thing: object) -> Iterable[object]:
    """The items of ``thing``, or of all that it may be, where that is no iterator or tensor."""
    if isinstance(thing, Choice):
        return [item for leaf in thing.leaves() for item in _known_items(leaf)]
    known = is_still(thing) and not isinstance(thing, Iterator) and not is_tensor(thing)
    return list(thing) if known else ()  # type: ignore[call-overload]


def _bound(body: Callable[..., object], item: object) -> Callable[[], object]:
    """``body`` with its item."""
    return WithClosure(body, lambda: body(item), (item,))
