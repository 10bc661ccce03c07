"""Functions of NumPy that make new arrays of others, as operations of the program.

NumPy says, on samples, what comes out and what is wrong; Paddle pads, joins and chooses exactly.
What has other arguments than these know is called by each run (:mod:`.numpy_calls`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import paddle

from d2s import paddle_bridge as bridge
from d2s.runtime.python.arrays.contents import RunArray
from d2s.runtime.python.arrays.ufuncs import is_number_like, operand, sample_like
from d2s.runtime.values.tree import children, is_sequence

_MOVED: Final = frozenset(("bool", "int32", "int64", "float32", "float64"))
"""Dtypes whose contents Paddle's operations here take everywhere."""

_EXACT: Final = 1 << 53
"""Paddle takes the number that it pads with as a double."""


def lowered_call(
    function: Callable[..., Any], arguments: Sequence[Any], options: dict[str, Any]
) -> RunArray | None:
    """``function(*arguments, **options)``; ``None`` where each run has to call it."""
    make = _FUNCTIONS.get(function)
    if make is None:
        return None
    try:
        return make(*arguments, **options)
    except (TypeError, ValueError):  # other arguments; or what is wrong, which the call says
        return None


def _pad(
    array: object, pad_width: Any, mode: object = "constant", *, constant_values: Any = 0
) -> RunArray | None:
    known = _is_known(pad_width) and _is_known(constant_values)
    if not known or not isinstance(array, RunArray) or mode != "constant" or array.scalar:
        return None
    sample = array.sample()
    np.pad(sample, pad_width, "constant", constant_values=constant_values)
    widths = np.broadcast_to(np.asarray(pad_width), (array.ndim, 2))
    filled = np.broadcast_to(np.asarray(constant_values), (array.ndim, 2)).astype(sample.dtype)
    large = sample.dtype.kind in "iu" and np.any(np.abs(filled) >= _EXACT)
    if sample.dtype.name not in _MOVED - {"bool"} or large:
        return None
    value = array.value
    for place in np.argwhere(widths):
        pads = np.zeros((array.ndim, 2), int)
        pads[tuple(place)] = widths[tuple(place)]
        number = filled[tuple(place)].item()
        value = paddle.nn.functional.pad(value, pads.ravel().tolist(), value=number)
    return RunArray.made(paddle.assign(value))


def _is_known(thing: object) -> bool:
    """Whether a number, or what holds numbers, is known while the program is captured."""
    if is_sequence(thing):
        return all(map(_is_known, children(thing)))
    return is_number_like(thing) and not (isinstance(thing, RunArray) or bridge.is_value(thing))


def _concatenate(arrays: object, axis: object = 0) -> RunArray | None:
    return _joined(np.concatenate, paddle.concat, arrays, axis)


def _stack(arrays: object, axis: object = 0) -> RunArray | None:
    return _joined(np.stack, paddle.stack, arrays, axis)


def _joined(
    function: Callable[..., Any], operation: Callable[..., Any], arrays: object, axis: object
) -> RunArray | None:
    if not is_sequence(arrays) or type(axis) is not int:
        return None
    parts = children(arrays)
    if not all(isinstance(item, RunArray) or _is_known(item) for item in parts):
        return None
    made = function(list(map(sample_like, parts)), axis)
    if made.dtype.name not in _MOVED:
        return None
    return RunArray.made(operation([operand(item, made.dtype.name) for item in parts], axis))


def _where(condition: object, x: object, y: object) -> RunArray | None:
    parts = (condition, x, y)
    if not all(map(is_number_like, parts)):
        return None
    samples = list(map(sample_like, parts))
    made = np.where(*samples)
    if np.asarray(samples[0]).dtype != bool or made.dtype.name not in _MOVED:
        return None
    chosen = paddle.where(
        operand(condition, "bool"), *(operand(part, made.dtype.name) for part in (x, y))
    )
    return RunArray.made(chosen)


_FUNCTIONS: Final[dict[Any, Callable[..., RunArray | None]]] = {
    np.pad: _pad,
    np.concatenate: _concatenate,
    np.stack: _stack,
    np.where: _where,
}
