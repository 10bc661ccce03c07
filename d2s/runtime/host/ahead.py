"""Iterators of Python's that were there before the call: what each run takes of them (rule F4).

While a program is captured, such an iterator stays where it is.  How far the captured code goes in
it is noted, as an attribute would be, and each run takes it on as far as that run has gone::

    next(self.rates)    ->    an item of a copy of it; what each run finds there is guarded, or an
                              input, like what else stands in the state
"""

from __future__ import annotations

import contextlib
import itertools
import types
from collections.abc import Callable, Iterator
from typing import Any, TypeGuard

from d2s.errors import UnsupportedInGraphError
from d2s.runtime.trace import current, error_here, open_trace
from d2s.runtime.values.choice import Choice, each, possible
from d2s.runtime.values.fields import AheadFields, CountFields, Taken, slot_fields, taken
from d2s.runtime.values.iterators.copies import NO_MORE, copy_of, goes_ahead, parts_of
from d2s.runtime.values.objects import KEEP_ELSEWHERE


def is_ahead(thing: object) -> TypeGuard[Iterator[Any]]:
    """Whether each run takes items of ``thing``: it was there before, and can be copied."""
    capture = current()
    if capture is None or capture.taking is None or not goes_ahead(type(thing)):
        return False
    assert isinstance(thing, Iterator)
    return bool(capture.taking.knows(thing)) and copy_of(thing) is not None


def next_item(iterator: Iterator[Any], /, *default: object) -> Any:
    """``next`` of such an iterator."""
    found = _item(iterator)
    if found is not NO_MORE:
        return found
    if default:
        return default[0]
    raise StopIteration


def rest_of(iterator: Iterator[Any]) -> Iterator[Any]:
    """All that such an iterator has left, as far as it is asked for."""
    while (found := _item(iterator)) is not NO_MORE:
        yield found


def over(things: Any) -> Any:
    """What a ``for`` statement goes over that stays Python."""
    return rest_of(things) if is_ahead(things) else things


def takes_ahead(thing: object) -> bool:
    """Whether an iterator takes items of such an iterator, as far as that can be seen."""
    if is_ahead(thing):
        return True
    return isinstance(thing, Iterator) and any(
        isinstance(part, types.GeneratorType) and part.gi_code is rest_of.__code__
        for part in parts_of(thing)
    )


def taking_none(function: Callable[..., Any]) -> Callable[..., Any]:
    """``function``, in which no item may be taken: nobody hands on that a branch has taken it."""

    def run(*given: object) -> Any:
        before = _all_taken()
        found = function(*given)
        for owner, count in _all_taken().items():
            if count is not before.get(owner, taken(0)):
                raise _unknown(open_trace().counts[owner].owner)
        return found

    return run


def _all_taken() -> dict[int, Any]:
    counts = open_trace().counts
    return {key: each["taken"] for key, each in counts.items() if isinstance(each, AheadFields)}


@contextlib.contextmanager
def undecided() -> Iterator[None]:
    """What is asked for here is taken by a run that goes on; whether it does, nobody knows yet."""
    taking = open_trace().taking
    if taking is None:
        yield
        return
    before, taking.undecided = taking.undecided, True
    try:
        yield
    finally:
        taking.undecided = before


def check_ahead(thing: object) -> None:
    """Refuse to ask for all items of such an iterator where dygraph asks for some.

    Raises:
        UnsupportedInGraphError: (D2S205).
    """
    if takes_ahead(thing):
        raise _unknown(thing)


def _unknown(thing: object) -> UnsupportedInGraphError:
    taking = open_trace().taking
    error = error_here(
        UnsupportedInGraphError,
        f"how many items are taken of the iterator {taking.path(thing)!r}, which was there before, "
        "is known to the run only",
        "take the items before, or keep a list and a position",
    )
    assert isinstance(error, UnsupportedInGraphError)
    return error


def _item(iterator: Iterator[Any]) -> Any:
    """The next item; ``NO_MORE`` where there is none.

    Raises:
        UnsupportedInGraphError: (D2S205) only the run knows how many items it takes, or whether
            there is another one.
    """
    capture, fields = open_trace(), slot_fields(iterator)
    assert isinstance(fields, AheadFields)
    capture.needs_python()
    if capture.taking.undecided or any(block.kind == "loop" for block in capture.blocks):
        raise _unknown(iterator)
    at = possible(fields["taken"])
    if not isinstance(at, Choice):
        found = capture.taking.item(fields, at.count)
        fields["taken"] = taken(at.count + 1)
        return found
    items = {one.count: capture.taking.item(fields, one.count) for one in at.leaves()}
    if any(item is NO_MORE for item in items.values()):
        raise error_here(
            UnsupportedInGraphError,
            f"whether the iterator {capture.taking.path(iterator)!r} has another item here is "
            "known to the run only: a branch has taken some",
            "take the items before the branch",
        )
    fields["taken"] = at.spread(_one_more)
    return each(lambda one: items[one.count], at)


def _one_more(at: Taken) -> Taken:
    return taken(at.count + 1)


def is_count(thing: object) -> TypeGuard[Iterator[Any]]:
    """Whether ``thing`` is an ``itertools.count`` whose position is a number of the program."""
    if current() is None or type(thing) is not itertools.count:
        return False
    fields = slot_fields(thing)
    return isinstance(fields, CountFields) and fields.known


def counted(count: Iterator[Any]) -> Any:
    """The next number of an ``itertools.count``, which stays where it is.

    One that the captured code has made moves, as long as nothing but Python decides how far.

    Raises:
        UnsupportedInGraphError: (D2S205) nobody knows where it comes from.
    """
    capture, fields = current(), slot_fields(count)
    assert capture is not None
    assert isinstance(fields, CountFields)
    ours = capture.born.get(id(count)) is count
    if not (ours or capture.outside is None or capture.outside(count)):
        raise error_here(
            UnsupportedInGraphError,
            "the function takes a number from an itertools.count that no variable or attribute "
            "leads to, which a run of its program would not do",
            KEEP_ELSEWHERE,
        )
    if fields.held is None and not capture.blocks and ours:
        return next(count)
    position = fields["position"]
    fields["position"] = position + fields["step"]
    return position


def rest_of_count(count: Iterator[Any]) -> Iterator[Any]:
    """All that such a count gives, as far as it is asked for."""
    while True:
        yield counted(count)


def counts_behind(thing: object) -> list[object]:
    """The ``itertools.count`` that an iterator of :func:`items_of` takes its numbers from."""
    if isinstance(thing, types.GeneratorType) and thing.gi_code is rest_of_count.__code__:
        return [] if thing.gi_frame is None else [thing.gi_frame.f_locals["count"]]
    return []
