"""Tensors whose first axis are the items of a dynamic list, with a row of zeros before them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import paddle

from d2s import paddle_bridge as bridge
from d2s.runtime.trace import current
from d2s.runtime.values.tensors import cast_plain


class Leaf(NamedTuple):
    """What is known of one leaf of every item.

    Attributes:
        dtype, shape: those of the leaf; an open dimension is -1.
        kind: the type of the Python number that it stands for.
        stop_gradient: no gradient goes through any of them.
        ragged: the open dimensions differ from item to item.
    """

    dtype: Any
    shape: tuple[int, ...]
    kind: type | None
    stop_gradient: bool
    ragged: bool = False


def opened(row: paddle.Tensor, shape: Sequence[int]) -> paddle.Tensor:
    """``row`` with an open first dimension and ``shape`` behind it."""
    return relaxed(row, [-1, *shape])


def zero_rows(leaf: Leaf, count: Any = 1) -> paddle.Tensor:
    """The rows of ``count`` items that nobody reads; an open dimension has one element."""
    made = paddle.zeros([count, *(1 if size < 0 else size for size in leaf.shape)], leaf.dtype)
    made.stop_gradient = leaf.stop_gradient
    return opened(made, leaf.shape)


def columns_of(stacks: list[Any], leaves: Iterable[Leaf]) -> list[list[Any]]:
    """The leaves of the items, of what a run has given for each of them."""
    columns = []
    for stacked, leaf in zip(stacks, leaves, strict=True):
        rows = paddle.unbind(stacked) if stacked.shape[0] else []
        columns.append(rows if leaf.kind is None else [leaf.kind(row.item()) for row in rows])
    return columns


def sizes_of(value: paddle.Tensor) -> list[Any]:
    """The shape, with values in the place of what only the run knows."""
    known = paddle.shape(value).astype("int64")
    return [known[axis] if size < 0 else size for axis, size in enumerate(value.shape)]


def relaxed(value: paddle.Tensor, shape: list[int]) -> paddle.Tensor:
    """``value``, whose shape is known to be ``shape`` only."""
    if list(value.shape) != shape:
        bridge.relax(value, shape)
    return value


def joined(rows: list[paddle.Tensor], *, axis: int = 0, ragged: bool = False) -> paddle.Tensor:
    """Several rows as one tensor; where they are ragged, filled up to the largest sizes."""
    parts = filled_up(rows, axis) if ragged else [_fitted(rows[0], rows[-1]), *rows[1:]]
    made = paddle.concat(parts, axis)
    bridge.note_rows(made)
    made.stop_gradient = all(row.stop_gradient for row in rows)
    return sharing(made, rows)


def sharing(made: paddle.Tensor, parts: list[paddle.Tensor]) -> paddle.Tensor:
    """``made``, which holds the very tensors of ``parts`` in dygraph; of none, it is a copy."""
    capture = current()
    if capture is not None:
        capture.notes.sharing[made.id] = (made, parts)
    return made


def _fitted(first: paddle.Tensor, other: paddle.Tensor) -> paddle.Tensor:
    """``first``, with the open dimensions of ``other`` where it has the row of no item only.

    That row is made before any item is there to tell how long an open dimension is.
    """
    if first is other or all(size >= 0 for size in first.shape[1:]):
        return first
    alone = paddle.shape(first)[0] == 1
    sizes = [
        size
        if size >= 0
        else paddle.where(alone, paddle.shape(other)[axis], paddle.shape(first)[axis])
        for axis, size in enumerate(first.shape)
        if axis
    ]
    made = paddle.expand(first, [-1, *sizes])
    made.stop_gradient = first.stop_gradient
    return relaxed(made, list(first.shape))


def filled_up(rows: list[paddle.Tensor], axis: int) -> list[paddle.Tensor]:
    """``rows`` with zeros behind them in each other dimension in which they differ."""
    for place in range(len(rows[0].shape)):
        found = {row.shape[place] for row in rows}
        if place == axis or (len(found) == 1 and -1 not in found):
            continue
        sizes = [paddle.shape(row)[place].astype("int64") for row in rows]
        largest = sizes[0]
        for size in sizes[1:]:
            largest = paddle.maximum(largest, size)
        rows = [
            _lengthened(row, place, largest - size) for row, size in zip(rows, sizes, strict=True)
        ]
    return rows


def _lengthened(row: paddle.Tensor, axis: int, more: paddle.Tensor) -> paddle.Tensor:
    """``row`` with so many zeros behind it along ``axis``."""
    shape = sizes_of(row)
    shape[axis] = more
    made = paddle.concat([row, paddle.zeros(shape, row.dtype)], axis)
    made.stop_gradient = row.stop_gradient
    return relaxed(made, [-1 if place == axis else size for place, size in enumerate(row.shape)])


def as_numbers(rows: list[paddle.Tensor]) -> paddle.Tensor:
    """The rows of numbers of several types, as floats that compare as they do.

    Args:
        rows: of what type each is, and its value in the rows of that type.
    """
    tag, *columns = rows
    found = cast_plain(columns[0], "float64")
    for place, column in enumerate(columns[1:], start=1):
        found = paddle.where(tag == place, cast_plain(column, "float64"), found)
    return found
