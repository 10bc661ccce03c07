"""Iterators as Python has them, written in Python: this file is converted as a user's code is.

Where an iterator has come to is then an attribute, and a branch or loop that a tensor decides may
take an item as it may change any other attribute.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from d2s.runtime.python.generators import InSteps, Step, step_of


class SequenceIterator:
    """``iter(sequence)``, in a capture in which Python's own would not do.

    Attributes:
        items: the sequence.
        position: how many items have been taken; more than there can be when it has ended.
    """

    def __init__(self, items: Sequence[Any]) -> None:
        self.items = items
        self.position = 0

    def __iter__(self) -> SequenceIterator:
        return self

    def __next__(self) -> Any:
        if self.position >= len(self.items):
            self.position = sys.maxsize
            raise StopIteration
        item = self.items[self.position]
        self.position += 1
        return item

    def d2s_stands_for(self) -> type:
        """The class that it has to a reader."""
        return type(iter(self.items if isinstance(self.items, tuple | range) else []))


def has_item(items: Sequence[Any], position: int) -> bool:
    """Whether a sequence has an item there."""
    return position < len(items)


def item_at(items: Sequence[Any], position: int) -> Any:
    """That item."""
    return items[position]


def has_next(iterator: SequenceIterator) -> bool:
    """Whether it has another item."""
    more = iterator.position < len(iterator.items)
    iterator.position += _ENDED * (not more)
    return more


def next_in(iterator: SequenceIterator) -> Any:
    """The next item, where there is one."""
    item = iterator.items[iterator.position]
    iterator.position += 1
    return item


_ENDED = 1 << 60
"""Added to a position, more than there can be."""


class GeneratorInSteps(InSteps):
    """A generator, in a capture in which Python's own would not do.

    Its variables are attributes, too (``passes.statements.steps``).

    Attributes:
        go_on: goes on to the next ``yield``, with what is sent.
        names: those of its variables.
        returns: it may return a value.
        reached: where it goes on.
        begun: it has been asked for an item.
        fresh: nobody has begun it, and it is not closed.
    """

    def __init__(self, go_on: Callable[..., Step], names: tuple[str, ...], returns: bool) -> None:
        self.go_on = go_on
        self.names = names
        self.returns = returns
        self.reached = 0
        self.begun = False
        self.fresh = True

    def __iter__(self) -> GeneratorInSteps:
        return self

    def __next__(self) -> Any:
        return self.send(None)

    def send(self, value: object) -> Any:
        step = step_of(self, value)
        if step.found:
            return step.get()
        if self.returns:
            raise StopIteration(step.get())
        raise StopIteration

    def close(self) -> None:
        self.fresh = False
        self.go_on = ended


def ended(generator: GeneratorInSteps, value: object) -> Step:
    """A step of a generator that is closed."""
    return Step(False, nothing)


def nothing() -> None:
    """What it gives."""


def next_of(iterator: Iterator[Any], *default: object) -> Any:
    """``next``, of an iterator whose class is written in Python."""
    if not default:
        return iterator.__next__()
    try:
        return iterator.__next__()
    except StopIteration:
        return default[0]


def asked(iterator: Iterator[Any]) -> tuple[bool, Any]:
    """Whether such an iterator has another item, and the item."""
    try:
        return True, iterator.__next__()
    except StopIteration:
        return False, None


def items_left(iterable: Iterable[Any]) -> Iterator[Any]:
    """The items of such an iterator, as far as they are asked for."""
    iterator = iter(iterable)
    while True:
        try:
            item = iterator.__next__()
        except StopIteration:
            break
        yield item


def enumerated(things: Iterable[Any], start: int = 0) -> Iterator[Any]:
    """``enumerate``."""
    for item in things:
        yield start, item
        start += 1


def mapped(function: Callable[..., Any], things: Iterable[Any]) -> Iterator[Any]:
    """``map``, of one thing."""
    for item in things:
        yield function(item)


def filtered(function: Callable[..., Any] | None, things: Iterable[Any]) -> Iterator[Any]:
    """``filter``."""
    for item in things:
        if item if function is None else function(item):
            yield item


def chained(first: Iterable[Any], second: Iterable[Any]) -> Iterator[Any]:
    """``itertools.chain`` of two things."""
    yield from first
    yield from second


def sliced(things: Iterable[Any], stop: int) -> Iterator[Any]:
    """``itertools.islice`` of the first ones."""
    if stop > 0:
        count = 0
        for item in things:
            yield item
            count = count + 1
            if count >= stop:
                return


def singles(things: Iterable[Any]) -> Iterator[Any]:
    """``zip`` of one thing."""
    for item in things:
        yield (item,)


def joined(rows: Iterable[tuple[Any, ...]], things: Iterable[Any]) -> Iterator[Any]:
    """``zip`` of one thing more than ``rows`` is of."""
    others = iter(things)
    for row in rows:
        for other in others:
            yield *row, other
            break
        else:
            return


def expressed(
    things: Iterable[Any], element: Callable[..., Any], accept: Callable[..., Any] | None
) -> Iterator[Any]:
    """A generator expression."""
    for item in things:
        if accept is None or accept(item):
            yield element(item)
