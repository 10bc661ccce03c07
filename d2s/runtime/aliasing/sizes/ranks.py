"""``squeeze`` where the run decides whether a dimension is 1, and with it how many are left.

Paddle's ``squeeze`` says in a program that a dimension of unknown size stays, or, named by its
axis, that it goes; its kernel looks.  What the code does with the number of dimensions would be
what the program says::

    y = x.nonzero().squeeze()       Choice(size == 1, squeeze(y, 0), y)
    if y.ndim == 0: ...             captured for both

A dimension that comes from an argument whose size is open is never 1 (see ``program.dimensions``).
"""

from __future__ import annotations

from typing import Any, Final

import paddle

from d2s import paddle_bridge as bridge
from d2s.errors import AmbiguousValueError
from d2s.runtime.aliasing.sizes.empties import has_given_sizes
from d2s.runtime.trace import Capture, current, error_here
from d2s.runtime.values.choice import Choice
from d2s.runtime.values.tensors import as_value, mark_number
from d2s.runtime.values.tree import is_list_or_tuple

_MOST: Final = 4
"""How many dimensions of one tensor the run may decide about."""


def squeeze(x: paddle.Tensor, axis: object = None, name: object = None) -> Any:
    """``paddle.squeeze``."""
    axes = open_axes(x, axis)
    if not axes:
        return paddle.squeeze(x, axis)
    value = as_value(x)
    rank = len(value.shape)
    wanted = range(rank) if axis is None else _axes(axis, rank)
    known = [each for each in wanted if value.shape[each] == 1]
    # From the last one on, so that the places of the others stay.
    return _squeezed(value, sorted({*known, *axes}, reverse=True), paddle.shape(value))


def open_axes(x: paddle.Tensor, axis: object = None, name: object = None) -> list[int]:
    """The dimensions that ``x.squeeze(axis)`` takes away on some runs and not on others.

    Raises:
        AmbiguousValueError: (D2S203) they are too many.
    """
    capture = current()
    if capture is None or capture.export or not bridge.is_value(x):
        return []
    sizes = list(x.shape)
    if all(size >= 0 for size in sizes) or (axis is None and _follows_arguments(capture, x)):
        return []
    wanted = range(len(sizes)) if axis is None else _axes(axis, len(sizes))
    found = [each for each in wanted if 0 <= each < len(sizes) and sizes[each] < 0]
    if len(found) > _MOST:
        raise error_here(
            AmbiguousValueError,
            f"squeeze() of a tensor with {len(found)} dimensions that only the run knows",
            "name the dimension: x.squeeze(0)",
        )
    return found


def _follows_arguments(capture: Capture, value: paddle.Tensor) -> bool:
    """Whether the open dimensions of ``value`` are those of arguments."""
    given = any(size < 0 for root, _ in capture.notes.roots.values() for size in root.shape)
    return given and has_given_sizes(value)


def _axes(axis: Any, rank: int) -> list[int]:
    """The dimensions that ``axis`` names; none for what Paddle is to refuse."""
    names = list(axis) if is_list_or_tuple(axis) else [axis]
    if not all(type(each) is int and -rank <= each < rank for each in names):
        return []
    return sorted({each % rank for each in names})


def _squeezed(value: paddle.Tensor, axes: list[int], sizes: Any) -> Any:
    if not axes:
        return value
    first, rest = axes[0], axes[1:]
    gone = _squeezed(paddle.squeeze(value, first), rest, sizes)
    if value.shape[first] == 1:
        return gone
    alone = mark_number(sizes[first] == 1, bool)
    return Choice(alone, gone, _squeezed(value, rest, sizes), "squeeze()")
