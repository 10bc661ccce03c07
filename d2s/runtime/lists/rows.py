"""Tensors whose first axis are the items of a dynamic list, with a row of zeros before them."""

from __future__ import annotations

import paddle

from d2s import paddle_bridge as bridge
from d2s.runtime.lists.elements import Leaf
from d2s.runtime.trace import current
from d2s.runtime.values.tensors import zeros_of


def opened(row: paddle.Tensor, shape: list[int]) -> paddle.Tensor:
    """``row`` with an open first dimension and ``shape`` behind it."""
    return relaxed(row, [-1, *shape])


def no_rows(leaf: Leaf) -> paddle.Tensor:
    """The rows of no item: one that nobody reads."""
    made = zeros_of([1, *leaf.shape], leaf.dtype)
    made.stop_gradient = leaf.stop_gradient
    return opened(made, leaf.shape)


def relaxed(value: paddle.Tensor, shape: list[int]) -> paddle.Tensor:
    """``value``, whose shape is known to be ``shape`` only."""
    if list(value.shape) != shape:
        bridge.relax(value, shape)
    return value


def joined(rows: list[paddle.Tensor]) -> paddle.Tensor:
    """Several rows as one tensor."""
    made = paddle.concat([_fitted(rows[0], rows[-1]), *rows[1:]])
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
