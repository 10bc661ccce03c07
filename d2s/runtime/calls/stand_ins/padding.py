"""``paddle.nn.functional.pad`` by numbers that the run decides, which a program does not take.

The items of the longer tensor are gathered, and those beyond the ends replaced::

    F.pad(x, [0, size - x.shape[0]])   ->   places = arange(size);  inside = places < x.shape[0]
                                            where(inside, index_select(x, clip(places)), 0.)
"""

from __future__ import annotations

from typing import Any, Final

import paddle

from d2s import paddle_bridge as bridge
from d2s.runtime.trace import current
from d2s.runtime.values.tensors import as_value, cast_plain, is_tensor, shape
from d2s.runtime.values.tree import any_leaf, is_sequence

_LAST: Final = ("NLC", "NHWC", "NDHWC")
"""Formats in which the channels come last."""


def is_decided(pad: object, mode: object) -> bool:
    """Whether a tensor is padded with a constant as often as the run says."""
    decided = is_sequence(pad) and any_leaf(is_tensor, pad, 1)
    return current() is not None and decided and mode == "constant"


def padded(
    x: bridge.Value,
    pad: Any,
    value: float = 0.0,
    data_format: str | None = None,
    pad_from_left_axis: bool = True,
    name: str | None = None,
) -> bridge.Value:
    """``x`` with ``value`` around it."""
    rank = len(x.shape)
    axes = list(range(rank))[::-1]
    if len(pad) == (rank - 2) * 2:
        channels = (0, rank - 1) if data_format in _LAST else (0, 1)
        axes = [axis for axis in axes if axis not in channels]
    elif len(pad) == 2 * rank and pad_from_left_axis:
        axes = axes[::-1]
    for axis, before, after in zip(axes, pad[::2], pad[1::2], strict=False):
        if is_tensor(before) or is_tensor(after) or before or after:
            x = _along(x, axis, before, after, value)
    return x


def _along(x: bridge.Value, axis: int, before: object, after: object, value: float) -> bridge.Value:
    """``x`` padded along one axis; a negative number takes items away."""
    size = cast_plain(as_value(shape(x)[axis]), "int64")
    before, after = (cast_plain(as_value(each), "int64") for each in (before, after))
    places = paddle.arange(0, size + before + after, dtype="int64") - before
    inside = paddle.logical_and(places >= 0, places < size)
    near = paddle.minimum(paddle.clip(places, min=0), size - 1)
    taken = paddle.index_select(x, near, axis)
    lifted = [1] * len(x.shape)
    lifted[axis] = -1
    beyond = paddle.full([], value, x.dtype)
    return paddle.where(paddle.reshape(inside, lifted), taken, beyond)
