"""Functions of Paddle that change shapes: ``tile``, ``view``, ``squeeze``, ``pad``."""

from __future__ import annotations

import collections
import math
from typing import Any

import paddle

from d2s import paddle_bridge as bridge
from d2s.errors import UnsupportedInGraphError
from d2s.runtime.aliasing.sizes import ranks
from d2s.runtime.calls.applying import applied, in_program
from d2s.runtime.calls.stand_ins import open_sizes, padding
from d2s.runtime.trace import error_here
from d2s.runtime.values.choice import Choice
from d2s.runtime.values.tensors import as_value, is_tensor, number_kind, shape
from d2s.runtime.values.tree import is_sequence


def tile(x: object, repeat_times: object, name: str | None = None) -> Any:
    """``paddle.tile``: one number may stand for a list of it, which a program does not take."""
    alone = isinstance(repeat_times, Choice) or number_kind(repeat_times) is not None
    times = [repeat_times] if alone else repeat_times
    return applied(paddle.tile, [x, times], {})


def repeat(input: object, repeats: object) -> Any:
    """``x.repeat``."""
    return tile(input, repeats)


def repeat_interleave(
    x: Any, repeats: Any, axis: Any = None, name: str | None = None, **options: Any
) -> Any:
    """``paddle.repeat_interleave``: a program takes one number for each element."""
    if bridge.is_value(repeats) and not list(repeats.shape):
        x = as_value(x)
        if axis is None:
            x, axis = x.flatten(), 0
        repeats = paddle.expand(repeats.reshape([1]), [shape(x)[axis]])
    return applied(paddle.repeat_interleave, [x, repeats, axis], options)


def squeeze(x: object, axis: object = None, name: str | None = None) -> Any:
    """``paddle.squeeze``."""
    return applied(ranks.squeeze, [x, in_program(axis)], {})


def pad(x: object, pad: object, mode: object = "constant", *others: Any, **options: Any) -> Any:
    """``paddle.nn.functional.pad``."""
    if padding.is_decided(pad, mode):
        return padding.padded(x, pad, *others, **options)
    return applied(paddle.nn.functional.pad, [x, pad, mode, *others], options)


def reshape(x: object, shape: object, name: str | None = None) -> Any:
    """``paddle.reshape``: what is left for -1 is known where the other open sizes cancel out."""
    if bridge.is_value(x) and is_sequence(shape):
        shape = _without_rest(x, shape)
    return applied(paddle.reshape, [x, shape], {})


def _without_rest(x: Any, sizes: Any) -> Any:
    """``sizes`` with a number in the place of -1; as they are where only the run knows it."""
    rest = [at for at, size in enumerate(sizes) if type(size) is int and size == -1]
    numbers = [size for size in sizes if type(size) is not int]
    if len(rest) != 1 or not numbers or not all(map(bridge.is_value, numbers)):
        return sizes
    open_ = [axis for axis, size in enumerate(x.shape) if size < 0]
    asked = collections.Counter(map(open_sizes.origin_of_number, numbers))
    if asked != collections.Counter(open_sizes.origin(x, axis) for axis in open_):
        return sizes
    count = math.prod(size for size in x.shape if size >= 0)
    taken = math.prod(size for size in sizes if type(size) is int and size != -1)
    if not taken or count % taken:
        return sizes
    return [*sizes[: rest[0]], count // taken, *sizes[rest[0] + 1 :]]


def view(x: object, shape_or_dtype: object, name: str | None = None) -> Any:
    """``paddle.view``, with a shape."""
    if not is_sequence(shape_or_dtype) and not is_tensor(shape_or_dtype):
        raise error_here(
            UnsupportedInGraphError,
            ".view() reads the memory of a tensor as another dtype, for which Paddle's programs "
            "have no operation",
            "use .astype() where the numbers are meant, or keep this part out of the function",
        )
    return reshape(x, shape_or_dtype)


def view_as(x: object, other: paddle.Tensor, name: str | None = None) -> Any:
    """``paddle.view_as``."""
    return applied(paddle.reshape, [x, other.shape], {})
