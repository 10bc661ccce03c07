"""Indices, bounds of slices and ranges as values of the program, for a length of the run."""

from __future__ import annotations

import builtins
import itertools
import operator
import sys
import types
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

import paddle

from d2s import paddle_bridge as bridge
from d2s.errors import ConditionError, NotStaticError, UnsupportedInGraphError
from d2s.runtime.trace import current, error_here
from d2s.runtime.values.callbacks import raise_when
from d2s.runtime.values.choice import Choice
from d2s.runtime.values.tensors import (
    as_value,
    cast_plain,
    condition,
    is_numeric,
    is_tensor,
    mark_number,
    number_kind,
    number_value,
)
from d2s.syntax.bytecode import unpacks_into

SEQUENCES: Final = (list, tuple, range)
"""What has iterators that a capture may have in Python (``Capture.stepping``)."""

_ITERATORS: Final[tuple[Any, ...]] = (
    *(type(iter(made())) for made in (list, tuple, partial(range, 0))),
    *(types.GeneratorType, enumerate, zip, map, filter, itertools.chain, itertools.islice),
)


def stuck(iterator: object) -> None:
    """Note that a branch or loop cannot take an item of ``iterator``; one in Python lets it."""
    if isinstance(iterator, _ITERATORS):
        want_steps()


def want_steps() -> None:
    """Note that iterators have to be in Python, for the next attempt."""
    capture = current()
    if capture is not None:
        capture.stepping = capture.stepping or False


def as_index(value: object) -> paddle.Tensor:
    """An index, which may be a tensor, as a 0-D int64 value."""
    if isinstance(value, Choice):
        value = value.get()
    if number_kind(value) is float:
        raise TypeError("list indices must be integers or slices, not float")
    index = cast_plain(as_value(value), "int64")
    return paddle.reshape(index, []) if list(index.shape) else index


def position_of(position: paddle.Tensor, length: paddle.Tensor, message: str) -> paddle.Tensor:
    """The place of an item, not negative; the run raises where there is none."""
    position = paddle.where(position < 0, position + length, position)
    outside = (position < 0) | (position >= length)
    raise_when(outside, IndexError(message))
    return position


def bounds_of(key: slice, length: paddle.Tensor) -> tuple[paddle.Tensor, paddle.Tensor]:
    """Start and stop of a slice of step 1, between 0 and the length."""

    def bound(value: object, default: paddle.Tensor) -> paddle.Tensor:
        if value is None:
            return default
        place = as_index(value)
        place = paddle.where(place < 0, place + length, place)
        place = paddle.where(place < 0, paddle.zeros_like(place), place)
        return paddle.minimum(place, length)

    start = bound(key.start, paddle.full([], 0, "int64"))
    return start, paddle.maximum(start, bound(key.stop, length))


def positions_of(key: slice, length: paddle.Tensor) -> paddle.Tensor:
    """The places of the items of a slice of a constant step, which is not 1."""
    if key.step > 0:
        start, stop = bounds_of(key, length)
    elif key.start is None and key.stop is None:
        start, stop = length - 1, paddle.full([], -1, "int64")
    else:
        # l[a:b:-s] is the part from b + 1 to a, every s-th from its end.
        stop, start = bounds_of(
            slice(
                None if key.stop is None else _after(key.stop, length),
                None if key.start is None else _after(key.start, length),
            ),
            length,
        )
        start, stop = start - 1, stop - 1
    return paddle.arange(start, stop, key.step, dtype="int64")


def _after(bound: object, length: paddle.Tensor) -> paddle.Tensor:
    """The place behind the item at ``bound``, as a bound that is not negative."""
    place = as_index(bound)
    place = paddle.where(place < 0, place + length, place)
    return paddle.maximum(place, paddle.full([], -1, "int64")) + 1


def check_count(length: paddle.Tensor, least: int, most: int | None) -> None:
    """Let the run raise what Python does where there are not so many items to be unpacked."""
    expected = f"expected {'' if most else 'at least '}{least}"
    for got in range(least):
        said = f"not enough values to unpack ({expected}, got {got})"
        raise_when(length == got, ValueError(said))
    if most is not None:
        raise_when(length > most, ValueError(f"too many values to unpack ({expected})"))


class Indexed:
    """``item(0)`` to ``item(length - 1)``; ``length`` is a value that stands for a Python int.

    A list may change while it is iterated, so its length is asked for anew for each item.

    Attributes:
        item: gives one.
        lists: lists of the run whose items can be changed in place, where they are the items.
        kind: the class of what it stands for, to the reader.
        whole: a list of the items, if an iterator is over one that nobody else has.
        blocks: the branches and loops in which it was made.
        taken: how many items ``next`` has taken.
    """

    def __init__(
        self,
        length: object,
        item: Callable[[Any], Any],
        lists: tuple[Any, ...] = (),
        kind: type | None = None,
        whole: Any = None,
    ) -> None:
        capture = current()
        self._length = length
        self._item = item
        self.lists = lists
        self.kind = kind or type(self)
        self.whole = whole
        self.blocks = () if capture is None else tuple(capture.blocks)
        self.taken = 0

    @property
    def length(self) -> Any:
        """The number of items as it is now."""
        length: Any = self._length() if callable(self._length) else self._length
        if not self.taken:
            return length
        return mark_number(paddle.maximum(length - self.taken, paddle.full([], 0, "int64")), int)

    def item(self, index: paddle.Tensor) -> Any:
        """An item, by its number."""
        return self._item(mark_number(index + self.taken, int) if self.taken else index)

    def d2s_type(self) -> type:
        """The class that it has to a reader."""
        return self.kind

    @property
    def is_iterator(self) -> bool:
        """Whether it is used up when it has been iterated."""
        return issubclass(self.kind, Iterator)

    def begin(self) -> None:
        """Note that all items are taken; of an iterator, none is left then.

        Raises:
            UnsupportedInGraphError: (D2S205) that has been done before.
        """
        capture = current()
        if capture is None or not self.is_iterator:
            return
        now, facts = tuple(capture.blocks), capture.facts()
        known = {number: truth for number, (_, truth) in facts.items()}
        _, before = capture.notes.begun.get(id(self), (None, None))
        again = before is not None and not any(
            known.get(number, truth) is not truth
            for block in before
            for number, (_, truth) in block.known.items()
        )
        if again or any(block.kind == "loop" for block in now[len(self.blocks) :]):
            raise error_here(
                UnsupportedInGraphError,
                f"an iterator ({self.kind.__name__}) over something whose length a tensor decides "
                "is iterated a second time",
                "keep a list of its items: items = list(...)",
            )
        capture.notes.begun[id(self)] = self, now

    def items(self) -> Any:
        """A list of the items that are left, if an iterator is over one; else this."""
        if self.whole is None:
            return self
        self.begin()
        return self.whole[self.taken :] if self.taken else self.whole

    def next(self) -> tuple[Any, Callable[[], Any]]:
        """Whether there is no next item, and what gives it.

        Raises:
            UnsupportedInGraphError: (D2S205) how many there were before is known to the run only.
        """
        capture = current()
        assert capture is not None
        here = capture.blocks
        if len(here) != len(self.blocks) or not all(map(operator.is_, here, self.blocks)):
            raise error_here(
                UnsupportedInGraphError,
                f"a branch or loop takes an item from an iterator ({self.kind.__name__}) over "
                "something whose length a tensor decides; how far it has come is known to the run "
                "only",
                "take the item before the branch, or keep a list and a position",
            )
        none, at = self.length == 0, self.taken
        self.taken += 1
        return none, lambda: self._item(number_value(at))

    def parts(self, count: int) -> list[Any]:
        """The items that ``a, b = ...`` takes, of which there have to be ``count``."""
        self.begin()
        check_count(self.length, count, count)
        return [self.item(number_value(index)) for index in builtins.range(count)]

    def __iter__(self) -> Iterator[Any]:
        count = unpacks_into(sys._getframe(1))
        if count is not None:
            return iter(self.parts(count))
        raise error_here(
            UnsupportedInGraphError,
            "code that stays Python iterates something whose length a tensor decides",
            "use a for statement of a converted function",
        )


class RunRange(Indexed):
    """What Python's ``range`` is, where the run decides a bound.

    Attributes:
        start, stop, step: as Python's has them.
    """

    def __init__(self, length: object, item: Callable[[Any], Any], *bounds: object) -> None:
        super().__init__(length, item, (), builtins.range)
        self.start, self.stop, self.step = bounds

    def __getitem__(self, key: Any) -> Any:
        if type(key) is not slice:
            if not is_tensor(key):
                operator.index(key)  # raises what Python raises
            said = "range object index out of range"
            return self.item(position_of(as_index(key), self.length, said))
        if key.step not in (None, 1):
            raise error_here(
                UnsupportedInGraphError,
                "a part of a range whose length a tensor decides is taken with steps",
                "give range() the step: range(start, stop, step)",
            )
        first, last = (mark_number(bound, int) for bound in bounds_of(key, self.length))
        bounds = self.item(first), self.item(last), self.step
        return RunRange(last - first, lambda index: self.item(index + first), *bounds)

    def d2s_condition(self) -> Any:
        """A range is true when it is not empty."""
        return self.length > 0

    def contains(self, item: object) -> Any:
        """``item in range``."""
        if type(item) is float:
            return item.is_integer() and self.contains(int(item))
        if not is_numeric(item) or isinstance(item, complex):
            return False
        if is_tensor(item) and number_kind(item) not in (int, bool):
            raise error_here(
                UnsupportedInGraphError,
                "a tensor or a float that the run decides is looked for in a range whose length a "
                "tensor decides",
                "compare it with the bounds",
            )
        number = bound_of(item)
        index = self._index(number)
        inside = (index >= 0) & (index < self.length) & (self.item(index) == number)
        return mark_number(inside, bool)

    def _index(self, number: paddle.Tensor) -> Any:
        return mark_number((number - bound_of(self.start)) // bound_of(self.step), int)

    def count(self, value: object) -> Any:
        """``range.count``."""
        found = self.contains(value)
        return mark_number(paddle.cast(found, "int64"), int) if is_tensor(found) else int(found)

    def index(self, value: object) -> Any:
        """``range.index``."""
        found = condition(self.contains(value))
        said = repr(value) if type(value) is int else "the value"
        raise_when(~found if is_tensor(found) else not found, ValueError(f"{said} is not in range"))
        return self._index(bound_of(value))

    def __eq__(self, other: object) -> Any:
        if isinstance(other, RunRange):
            length = other.length
        elif type(other) is builtins.range:
            length = len(other)
        else:
            return False
        same_start, same_step = (
            bound_of(mine) == bound_of(theirs)
            for mine, theirs in ((self.start, other.start), (self.step, other.step))
        )
        count = self.length
        same = (count == length) & ((count < 1) | (same_start & ((count < 2) | same_step)))
        return mark_number(same, bool)

    def __hash__(self) -> int:
        raise error_here(
            NotStaticError,
            "a range whose length a tensor decides is hashed, as a key of a dict or an item of a "
            "set",
            "use its bounds as the key, in dygraph",
        )

    def copy(self) -> RunRange:
        """Itself, which does not change: what is shown of it is taken now."""
        return self

    def d2s_shown(self) -> tuple[list[paddle.Tensor], Callable[[list[Any]], Any]]:
        """The bounds, and what makes the range of a run's bounds."""
        bounds = [as_value(bound_of(bound)) for bound in (self.start, self.stop, self.step)]
        return bounds, lambda found: builtins.range(*(int(bound) for bound in found))


def bound_of(value: Any) -> Any:
    """A 0-D int64 value that stands for a Python int."""
    if number_kind(value) is int and bridge.is_value(value):
        return value
    if not is_tensor(value):
        return number_value(int(value))
    value = as_value(value)
    if any(size > 1 for size in value.shape):
        raise error_here(
            ConditionError,
            f"a tensor of shape {list(value.shape)} is used as a bound, which needs one element",
            "take one element of it",
        )
    if value.dtype != paddle.int64:
        value = paddle.cast(value, "int64")
    if list(value.shape):
        value = paddle.reshape(value, [])
    return mark_number(paddle.assign(value), int)  # a copy: the tensor itself is no number
