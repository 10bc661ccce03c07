"""A loop over Python values that a tensor may leave early, as one static loop (rule C1).

``for step in range(100): ...; if change < tol: break`` is no loop over tensors, yet the run alone
knows how many trips there are.  Its first trip is captured by itself, and shows that a tensor
decides.  The trips that are left become one static loop, if two things hold:

* the items are *numbered*: a number of the run gives the item of its trip (:func:`numbered`);
* the body can be captured with such an item.  Where it cannot (it wants a layer, a name or a
  shape out of a Python container), the attempt is undone and the trips are captured one by one.

Nothing then grows with the number of trips: not the program, not the time to capture it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, Final

import paddle

from d2s.runtime.aliasing.variables import State
from d2s.runtime.host.ahead import is_ahead
from d2s.runtime.lists.positions import Indexed
from d2s.runtime.python.picking import picked
from d2s.runtime.trace import NeedsPythonError, current
from d2s.runtime.values.choice import Choice
from d2s.runtime.values.tensors import (
    NUMBER_DTYPES,
    as_value,
    is_tensor,
    mark_number,
    number_kind,
    number_value,
)
from d2s.runtime.values.tree import is_plain_sequence, like, members, size
from d2s.runtime.values.unbound import UNBOUND

FEW: Final = 4
"""So many trips are captured one by one all the same: a loop would not be smaller."""

Item = Callable[[Any], Any]
"""From the number of a trip, a value that stands for a Python int, to the item of that trip."""

_COMBINED: Final[tuple[type, ...]] = (
    itertools.product,
    itertools.permutations,
    itertools.combinations,
    itertools.combinations_with_replacement,
)
"""Iterators that hold their items from the beginning."""

_CONTAINERS: Final[tuple[Any, ...]] = (
    [], (), range(0), range(2**70), "", b"", {}.keys(), {}.values(), {}.items(),
)  # fmt: skip

_OF_CONTAINERS: Final[tuple[type, ...]] = (
    *(type(iter(made)) for made in _CONTAINERS),
    type(reversed(list[Any]())),
)
"""Iterators of built-in containers: taking an item runs no code of the user's."""


def hold_values(state: State) -> bool:
    """Whether all that the trips change are tensors, numbers and choices among such things."""
    return all(
        is_tensor(value)
        or number_kind(value) is not None
        or value is None
        or value is UNBOUND
        or isinstance(value, Choice)
        for value in state.read()
    )


def is_still(thing: object) -> bool:
    """Whether all items of ``thing`` can be asked for at once, before the first trip.

    A generator runs code between two trips; so does an iterator of the user's.
    """
    if is_ahead(thing):  # how many it gives is what each run takes
        return False
    if is_plain_sequence(thing) or isinstance(thing, (range, *_OF_CONTAINERS, *_COMBINED)):
        return True
    if type(thing) in (type({}.keys()), type({}.values()), type({}.items())):
        return True
    if type(thing) in (enumerate, zip):
        return all(is_still(part) for part in sources_of(thing))
    return current() is not None and is_tensor(thing) and bool(list(thing.shape))


def sources_of(iterator: Any) -> tuple[Any, ...]:
    """The iterators that ``enumerate`` or ``zip`` goes over."""
    parts: tuple[Any, ...] = iterator.__reduce__()[1]
    return parts[:1] if type(iterator) is enumerate else parts


def lists_behind(thing: object) -> list[list[Any]]:
    """The lists that ``thing`` goes over: another length of one would be seen by its trips."""
    if type(thing) is list:
        return [thing]
    if type(thing) in (enumerate, zip):
        return [found for part in sources_of(thing) for found in lists_behind(part)]
    if isinstance(thing, (type(iter([])), type(reversed([])))):
        parts = thing.__reduce__()[1]
        return [part for part in parts if type(part) is list]
    return []


def numbered(items: Any) -> Item | None:
    """What gives the item of a trip; ``None`` where each has to be known while it is captured.

    Args:
        items: a range, or a sequence of the items.
    """
    if type(items) is range:
        first, step = items.start, items.step
        return lambda index: mark_number(_scaled(index, step, first), int)
    kinds = {number_kind(item) for item in items}
    if None not in kinds and len(kinds) == 1 and not any(map(is_tensor, items)):
        return _from_table(items, *kinds)
    if kinds == {None} and all(map(is_tensor, items)):
        return _from_tensors(items)
    return _from_columns(items)


def _scaled(index: paddle.Tensor, step: int, first: int) -> Any:
    scaled = index if step == 1 else index * step
    return scaled if first == 0 else scaled + first


def _from_table(items: Any, kind: type | None) -> Item | None:
    """Python numbers of one type."""
    assert kind is not None
    if kind is int and any(abs(item) >= 2**62 for item in items):
        return None
    steps = {b - a for a, b in itertools.pairwise(items)} if kind is int else set()
    if len(steps) == 1:
        (step,), first = steps, items[0]
        return lambda index: mark_number(_scaled(index, step, first), int)
    table = paddle.to_tensor(list(items), dtype=NUMBER_DTYPES[kind])
    return lambda index: mark_number(table[index], kind)


def _from_tensors(items: Any) -> Item | None:
    """Tensors of one dtype and shape."""
    values = [as_value(item) for item in items]
    if len({(str(value.dtype), *value.shape) for value in values}) > 1:
        return None
    if any(size < 0 for size in values[0].shape):
        return None
    table = list(items)
    return lambda index: picked(table, index)


def _from_columns(items: Any) -> Item | None:
    """Tuples of one length and type, column by column."""
    first = items[0]
    if not isinstance(first, tuple) or not size(first):
        return None
    if any(type(item) is not type(first) or size(item) != size(first) for item in items):
        return None
    if hasattr(first, "__dict__"):  # they may have other attributes
        return None
    columns = [numbered(column) for column in zip(*map(members, items), strict=True)]
    found = [column for column in columns if column is not None]
    if len(found) < len(columns):
        return None
    return lambda index: like(first, [column(index) for column in found])


def sequence(items: Any) -> Indexed | None:
    """``items`` as what a static loop goes over; ``None`` where that cannot be, or is no use."""
    if len(items) <= FEW:
        return None
    item = numbered(items)
    return None if item is None else Indexed(number_value(len(items)), item)


class Attempt:
    """One attempt to capture the trips that are left as a static loop.

    Attributes:
        reason: why that could not be.
    """

    def __init__(self) -> None:
        self.reason: BaseException | None = None

    def succeeds(self, run: Callable[[], None]) -> bool:
        """Whether ``run`` has captured the loop; if not, nothing has happened."""
        capture = current()
        assert capture is not None
        # What leaves a static loop goes past a ``finally``; a handler around one is refused.
        if not capture.rolls or any(each.caught is None for each in capture.attempts):
            return False
        known = capture.checkpoint()
        capture.rolling += 1
        try:
            run()
        except (NeedsPythonError, Exception) as error:
            self.reason = error.reason if isinstance(error, NeedsPythonError) else error
            capture.rollback(known)
            return False
        finally:
            capture.rolling -= 1
        capture.rolled = True
        return True
