"""``paddle.stack``, ``concat`` and their like of lists whose length the run decides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import paddle

from d2s.runtime.aliasing import inplace, replays
from d2s.runtime.calls.applying import applied
from d2s.runtime.lists.dynamic_list import DynamicList
from d2s.runtime.values.tensors import is_tensor


def _into(out: object) -> dict[str, object]:
    return {} if out is None else {"out": out}


def stack(x: object, axis: int = 0, name: str | None = None, *, out: object = None) -> Any:
    """``paddle.stack``."""
    if not isinstance(x, DynamicList):
        return applied(paddle.stack, [x, axis], _into(out))
    stacked = x.stacked()
    if axis not in (0, -len(stacked.shape)):
        stacked = paddle.moveaxis(stacked, 0, axis)
    return stacked if out is None else inplace.put_into(out, stacked)


def concat(x: object, axis: Any = 0, name: str | None = None, *, out: object = None) -> Any:
    """``paddle.concat``."""
    if not isinstance(x, DynamicList):
        if is_tensor(x):  # which a program would take
            replays.check(paddle.concat, [x])
        return applied(paddle.concat, [x, axis], _into(out))
    stacked = x.stacked(joins=True)
    rank = len(stacked.shape) - 1
    axis = axis + rank if axis < 0 else axis
    moved = paddle.moveaxis(stacked, 0, axis)
    shape = paddle.shape(moved).astype("int64")
    sizes: list[Any] = [
        shape[index] if size < 0 else size for index, size in enumerate(moved.shape)
    ]
    joined = paddle.reshape(moved, [*sizes[:axis], -1, *sizes[axis + 2 :]])
    return joined if out is None else inplace.put_into(out, joined)


def joining(original: Callable[..., Any]) -> Callable[..., Any]:
    """``hstack`` and its like, which bring the items to a rank and join them."""
    lifted, axis = JOINING[original.__name__]

    def join(x: object, name: str | None = None) -> Any:
        if not isinstance(x, DynamicList):
            return applied(original, [x], {})
        rank = len(x.stacked().shape) - 1
        if rank >= lifted:
            return concat(x, 0 if rank == 1 else axis)
        stacked = x.stacked()
        if rank == 0:  # every item has one element
            shape = [-1 if place == min(axis, lifted - 1) else 1 for place in range(lifted)]
            return paddle.reshape(stacked, shape)
        if axis == 0:
            return stacked
        last = paddle.moveaxis(stacked, 0, -1)
        return last.unsqueeze(0) if rank == 1 and lifted == 3 else last

    return join


JOINING: Final = {
    "hstack": (1, 1),
    "vstack": (2, 0),
    "row_stack": (2, 0),
    "column_stack": (2, 1),
    "dstack": (3, 2),
}
"""The rank that the items have at least, and the axis along which they are joined."""


def add_n(inputs: object, name: str | None = None) -> Any:
    """``paddle.add_n``."""
    if isinstance(inputs, DynamicList):
        return inputs.stacked().sum(0)
    return applied(paddle.add_n, [inputs], {})
