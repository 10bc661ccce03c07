"""The order of tuples, lists and objects that hold tensors, for ``min``, ``max`` and ``sorted``.

What is to be put in order is compared in pairs.  The answers are one matrix (:class:`Order`),
from which the run finds the positions of the items in order, or that of the first or last one.
Tuples of numbers are compared column by column, other things (objects with an ``__lt__`` of the
user's, tuples that hold lists) pair by pair.
"""

from __future__ import annotations

import functools
import itertools
import operator
import sys
from collections.abc import Callable
from typing import Any, Final

import paddle

from d2s import paddle_bridge as bridge
from d2s.errors import ConditionError, UnsupportedInGraphError
from d2s.runtime.control_flow.cond import select
from d2s.runtime.python.comparing import COMPARISONS
from d2s.runtime.trace import error_here
from d2s.runtime.values.choice import Choice, possible
from d2s.runtime.values.tensors import (
    as_value,
    cast_plain,
    condition,
    is_float,
    is_numeric,
    is_tensor,
    number_kind,
    special_method,
)
from d2s.runtime.values.tree import is_list_or_tuple, is_tuple

STACKED: Final = (paddle.float32, paddle.float64, paddle.int32, paddle.int64)
"""What Paddle can stack, sort and gather on every device."""

_RUN: Final = 64
"""Fewer items than so many are put in order by insertion alone."""

_MOST_PAIRS: Final = 2048
"""So many pairs of items are compared one by one at most."""

_WINS: Final = {"<": operator.lt, ">": operator.gt}


def _is_sequence(thing: object) -> bool:
    """Whether ``thing`` is a tuple or list that compares as those of Python do."""
    return is_list_or_tuple(thing) and type(thing).__lt__ in (tuple.__lt__, list.__lt__)


def _is_of_run(thing: Any) -> bool:
    """Whether comparing ``thing`` as Python does may ask for what the run decides."""
    if _is_sequence(thing):
        return any(map(_is_of_run, thing))
    users = any(special_method(thing, name) for name in ("__lt__", "__gt__", "__eq__"))
    return users or is_tensor(thing) or isinstance(thing, Choice)


def as_known(thing: Any) -> Any:
    """``thing`` as it is compared here: without what the branches around rule out."""
    if not _is_sequence(thing):
        return possible(thing)
    parts = list(map(as_known, thing))
    if all(map(operator.is_, parts, thing)):
        return thing
    return tuple(parts) if is_tuple(thing) else parts


def is_structured(items: list[Any]) -> bool:
    """Whether among ``items`` are tuples, lists or objects that only the run can compare."""
    return any(not _is_number(item) and _is_of_run(item) for item in items)


def beginnings(items: list[Any]) -> list[Any] | None:
    """What tuples or lists begin with, if Python can tell their order from that alone.

    >>> beginnings([("b", object), ("a", type)])
    [('b',), ('a',)]
    """
    if not all(map(_is_sequence, items)):
        return None
    known = itertools.takewhile(
        lambda at: all(at < len(item) and type(item[at]) in _PLAIN for item in items),
        itertools.count(),
    )
    length = len(list(known))
    found = [tuple(item[:length]) for item in items]
    return found if len(set(found)) == len(found) else None


_PLAIN: Final = (bool, int, float, str, bytes, type(None))


def _is_number(item: object) -> bool:
    return is_numeric(item)


def vector(values: Any, what: str) -> Any:
    """``values``, one number in each row, as a 1-D tensor that can be sorted."""
    if any(size > 1 for size in values.shape[1:]):
        raise error_here(
            ConditionError,
            f"{what}() compares tensors of shape {list(values.shape)[1:]}, which needs one element",
            "give a key that is a number or a tensor of one element",
        )
    if len(values.shape) > 1:
        values = paddle.reshape(values, [-1])
    if values.dtype in STACKED:
        return values
    return paddle.cast(values, "float32" if is_float(values.dtype) else "int32")


def column(items: list[Any], what: str) -> Any:
    """Numbers, or tensors of one element, as a 1-D tensor; ``None`` when Python knows them all."""
    if not any(is_tensor(item) or isinstance(item, Choice) for item in items):
        return None
    values = [as_value(item) for item in items]
    dtypes = {
        value.dtype
        for value, item in zip(values, items, strict=True)
        if number_kind(item) is None and is_tensor(item)
    }
    if not dtypes:
        dtypes = {value.dtype for value in values}
    (dtype,) = dtypes if len(dtypes) == 1 else (paddle.float64,)
    if not is_float(dtype) and any(number_kind(item) is float for item in items):
        dtype = paddle.float64
    for value in values:
        vector(value.unsqueeze(0), what)
    return vector(
        paddle.stack([paddle.reshape(cast_plain(value, dtype), []) for value in values]), what
    )


class _Column:
    """One number of each item, and which of these are one object: that equals itself, NaN too."""

    def __init__(self, numbers: Any, objects: list[int] | None = None) -> None:
        self.numbers = numbers
        repeated = objects is not None and len(set(objects)) < len(objects)
        if objects is None or not repeated or not is_float(numbers.dtype):
            self.objects = None
        else:
            places = {known: index for index, known in enumerate(objects)}
            self.objects = paddle.to_tensor([places[known] for known in objects], dtype="int64")

    def answers(self, wins: Callable[[Any, Any], Any]) -> tuple[Any, Any]:
        """Of each pair: whether the one wins over the other, and whether they are equal."""
        rows, others = paddle.unsqueeze(self.numbers, 1), paddle.unsqueeze(self.numbers, 0)
        same = rows == others
        if self.objects is not None:
            same = same | (paddle.unsqueeze(self.objects, 1) == paddle.unsqueeze(self.objects, 0))
        return wins(rows, others), same


def _columns(items: list[Any]) -> list[_Column] | None:
    """What decides the order of tuples or lists of numbers; ``None`` where they hold others."""
    if not any(all(isinstance(item, kind) for item in items) for kind in (tuple, list)):
        return None
    if not all(map(_is_sequence, items)):
        return None
    found: list[_Column] = []
    for at in range(max(map(len, items))):
        there = [at < len(item) for item in items]
        if not all(there):  # the shorter one of two that begin alike comes first
            found.append(_Column(paddle.to_tensor([int(each_) for each_ in there], dtype="int64")))
        filler = next(item[at] for item in items if at < len(item))
        parts = _part([item[at] if at < len(item) else filler for item in items])
        if parts is None:
            return None
        found += parts
    return found


def _part(things: list[Any]) -> list[_Column] | None:
    """The columns of what stands at one place of all items."""
    if all(_is_number(thing) and _is_single(thing) for thing in things):
        numbers = column(things, "sorted")
        if numbers is None:
            numbers = paddle.to_tensor([float(t) if type(t) is float else t for t in things])
            return [_Column(numbers)] if _is_exact(things) else None
        return [_Column(numbers, [id(thing) for thing in things])]
    if all(type(thing) is str for thing in things):
        ranks = {text: rank for rank, text in enumerate(sorted(set(things)))}
        return [_Column(paddle.to_tensor([ranks[text] for text in things], dtype="int64"))]
    return _columns(things)


def _is_single(thing: object) -> bool:
    return not is_tensor(thing) or all(size == 1 for size in thing.shape)


def _is_exact(numbers: list[Any]) -> bool:
    """Whether Python numbers stay what they are in a tensor."""
    return {type(number) for number in numbers} == {int} and all(
        abs(number) < 2**62 for number in numbers
    )


class Order:
    """The answers to ``a < b`` (or ``a > b``) for pairs of items, ``b`` before ``a`` in the list.

    Args:
        items: the items.
        symbol: ``"<"`` or ``">"``.
        sorts: pairs are asked the other way round, too, where Python's ``sorted`` does.

    Attributes:
        count: how many items there are.
        known: no answer depends on the run.
        sure: no three items can contradict each other, as NaN does; a bool value, or a bool.
    """

    def __init__(self, items: list[Any], symbol: str, *, sorts: bool = False) -> None:
        self.count = len(items)
        self.known = False
        columns = _columns(items)
        if columns is None:
            self.sure: Any = False
            answers = self._pair_by_pair(items, symbol, both=sorts and SEES_EQUALS)
            self.known = not any(map(bridge.is_value, answers))
            self._flat = None if self.known else paddle.stack(list(map(_as_value, answers)))
            return
        floats = [each_.numbers for each_ in columns if is_float(each_.numbers.dtype)]
        sure = [~paddle.isnan(numbers.detach()).any() for numbers in floats]
        self.sure = functools.reduce(operator.and_, sure) if sure else True
        wins = paddle.full([self.count, self.count], False, "bool")
        for each_ in reversed(columns):
            better, same = each_.answers(_WINS[symbol])
            wins = (better & ~same) | (same & wins)
        self._flat = paddle.reshape(wins, [-1])

    def _pair_by_pair(self, items: list[Any], symbol: str, *, both: bool) -> list[Any]:
        if self.count * (self.count - 1) > 2 * _MOST_PAIRS:
            raise error_here(
                UnsupportedInGraphError,
                f"{self.count} things are put in order that are no tuples of numbers, of which "
                f"{_MOST_PAIRS} pairs are compared at most",
                "give a key that is one number or a tuple of numbers",
            )
        return [
            condition(COMPARISONS[symbol](items[row], items[other]))
            if other < row or (both and row < other)
            else False
            for row in range(self.count)
            for other in range(self.count)
        ]

    def wins(self, row: paddle.Tensor, other: paddle.Tensor) -> paddle.Tensor:
        """Whether the item at ``row`` wins over the one at ``other``."""
        return paddle.gather(self._flat, row * self.count + other)

    def best(self) -> Any:
        """The position of the first item that no later one wins over, one after the other."""
        best = paddle.full([1], 0, "int64")
        for row in range(1, self.count):
            here = paddle.full([1], row, "int64")
            best = paddle.where(self.wins(here, best), here, best)
        return paddle.reshape(best, [])

    def positions(self) -> Any:
        """The positions of the items in order, equals as they are."""
        if self.sure is True or self.count >= _RUN:
            return self._ranked()
        if self.sure is False:
            return by_insertion(self.wins, self.count)
        return select(self.sure, self._ranked, lambda: by_insertion(self.wins, self.count))

    def _ranked(self) -> Any:
        """In order of how many items come before each; of a pair, the later one says which."""
        size = [self.count, self.count]
        lower = paddle.tril(paddle.full(size, 1, "int64"), -1) > 0
        wins = paddle.reshape(self._flat, size) & lower  # the row comes before the other
        before = (lower & ~wins) | paddle.transpose(wins, [1, 0])
        return paddle.argsort(paddle.cast(before, "int64").sum(1), stable=True)


def _as_value(answer: object) -> Any:
    return answer if bridge.is_value(answer) else paddle.full([], bool(answer), "bool")


def order_of(keys: Any, reverse: Any) -> Any:
    """The positions of a 1-D tensor in order; equals stay as they are, also in reverse."""
    order = paddle.argsort(keys, descending=bool(reverse), stable=True)
    if not is_float(keys.dtype) or not 1 < keys.shape[0] < _RUN:
        return order
    fixed = paddle.flip(keys.detach(), [0]) if reverse else keys.detach()

    def inserted() -> Any:
        found = by_insertion(
            lambda row, other: paddle.gather(fixed, row) < paddle.gather(fixed, other),
            keys.shape[0],
        )
        return turned(found, keys.shape[0]) if reverse else found

    return select(paddle.isnan(fixed).any(), inserted, lambda: order)


def turned(order: object, count: int) -> Any:
    """From the order of the items from last to first to that in reverse, as Python finds it."""
    return count - 1 - paddle.flip(order, [0])


SEES_EQUALS: Final = sys.version_info >= (3, 13)
"""Whether the run that Python begins with may have equals where it goes down."""


def _falls(less: Callable[[Any, Any], Any], places: paddle.Tensor) -> Any:
    """Whether each item is less than the one before it."""
    return paddle.concat([paddle.full([1], False, "bool"), less(places[1:], places[:-1])])


def _run(less: Callable[[Any, Any], Any], places: paddle.Tensor) -> tuple[Any, Any]:
    """How long the run at the beginning is, and the positions with it in order."""
    falls = _falls(less, places)
    goes_on = (falls == falls[1]) | (places < 2)
    run = paddle.cumprod(paddle.cast(goes_on, "int64"), 0).sum()
    return run, paddle.where(falls[1] & (places < run), run - 1 - places, places)


def _run_with_equals(less: Callable[[Any, Any], Any], places: paddle.Tensor) -> tuple[Any, Any]:
    """The same since Python 3.13.

    What neither rises nor falls counts as equal, equals keep their order where the run is turned
    around, and a run that was turned around goes on with what does not fall.
    """
    count = places.shape[0]
    beyond = paddle.full([], count, "int64")
    falls = _falls(less, places)
    rises = paddle.concat([paddle.full([1], False, "bool"), less(places[:-1], places[1:])])

    def first(marks: paddle.Tensor, behind: object) -> paddle.Tensor:
        return paddle.where(marks & (places > behind), places, beyond).min()

    def is_less(one: paddle.Tensor, other: paddle.Tensor) -> paddle.Tensor:
        return paddle.reshape(less(paddle.reshape(one, [1]), paddle.reshape(other, [1])), [])

    low = first(falls, 0)
    end = first(rises & ~falls, low)
    goes_up = (low == count) | ((low > 1) & is_less(places[0], low - 1))
    equals = paddle.cumsum(paddle.cast(falls, "int64"))  # the same number for those side by side
    keys = paddle.where(places < end, places - equals * count, places + count * count)
    ends = (end == count) | is_less(paddle.clip(end, max=count - 1), low - 1)
    run = paddle.where(goes_up, low, paddle.where(ends, end, first(falls, end)))
    return run, paddle.where(goes_up, places, paddle.argsort(keys))


def by_insertion(less: Callable[[Any, Any], Any], count: int) -> Any:
    """Positions in Python's order, which NaN makes depend on how it is found.

    Python looks for a run in order at the beginning, turns it around if it goes down, and inserts
    what follows by bisection.

    Args:
        less: whether the items at some positions are less than those at others; before Python 3.13
            the others are before them.
        count: how many items there are.
    """
    places = paddle.arange(count, dtype="int64")
    run, order = (_run_with_equals if SEES_EQUALS else _run)(less, places)

    def narrower(low: paddle.Tensor, high: paddle.Tensor, key: object, order: object) -> Any:
        middle = (low + high) // 2
        below = paddle.reshape(less(key, paddle.gather(order, paddle.reshape(middle, [1]))), [])
        low, high = paddle.where(below, low, middle + 1), paddle.where(below, middle, high)
        return low, high, key, order

    def inserted(start: paddle.Tensor, order: paddle.Tensor) -> Any:
        key = paddle.gather(order, paddle.reshape(start, [1]))
        low, *_ = paddle.static.nn.while_loop(
            lambda low, high, *_: low < high,
            narrower,
            [paddle.full([], 0, "int64"), paddle.assign(start), key, paddle.assign(order)],
        )
        moved = paddle.where((places > low) & (places <= start), places - 1, places)
        return start + 1, paddle.gather(order, paddle.where(places == low, start, moved))

    _, order = paddle.static.nn.while_loop(
        lambda start, order: start < count, inserted, [run, order]
    )
    return order
