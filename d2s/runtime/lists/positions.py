"""Indices and bounds of slices as values of the program, for a list of a length of the run."""

from __future__ import annotations

import paddle

from d2s.runtime.values.callbacks import raise_when
from d2s.runtime.values.choice import Choice
from d2s.runtime.values.tensors import as_value, cast_plain, number_kind


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
