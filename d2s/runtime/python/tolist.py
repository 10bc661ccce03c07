"""``x.tolist()``: lists of Python numbers that the run decides (rule E5).

::

    [v0, v1] = x.tolist()          numbers of the run, in lists of Python, where the size is known
    for i in found.tolist(): ...   a list of the run, where a dimension is open, or there are many
"""

from __future__ import annotations

import math
from typing import Any, Final

import paddle

from d2s.errors import NotStaticError
from d2s.runtime.lists.dynamic_list import DynamicList, of_columns
from d2s.runtime.lists.items.structures import element_of
from d2s.runtime.trace import error_here
from d2s.runtime.values.tensors import NUMBER_DTYPES, as_value, cast_plain, mark_number

UNROLLED: Final = 128
"""So many numbers are at most taken apart; of more there is a list of the run."""

_WIDEST: Final = 16
"""So many numbers may each item of a list of the run hold."""


def kind_of(dtype: object) -> type:
    """The type of Python's numbers that the elements of a tensor of ``dtype`` become.

    Raises:
        NotStaticError: (D2S208) d2s has no such numbers.
    """
    name = str(dtype).rsplit(".", 1)[-1]
    if name == "bool":
        return bool
    if name.startswith(("int", "uint")):
        return int
    if name in ("float16", "float32", "float64"):
        return float
    raise error_here(
        NotStaticError,
        f"the numbers of a {name} tensor are asked for, of which only the run knows any",
        "ask for those of x.real() and x.imag()"
        if "complex" in name
        else "cast it to float32 before",
    )


def tolist(tensor: object) -> Any:
    """``x.tolist()`` of a tensor of the program, or of one that is part of its state."""
    value = as_value(tensor)
    kind = kind_of(value.dtype)
    wide = cast_plain(value, NUMBER_DTYPES[kind])
    wide = paddle.assign(wide) if wide is value else wide
    wide.stop_gradient = True
    return _listed(wide, kind)


def _listed(value: paddle.Tensor, kind: type) -> Any:
    """``value`` as lists in lists of numbers."""
    shape = list(value.shape)
    if not shape:
        return mark_number(value, kind)
    inner = math.prod(shape[1:])
    if shape[0] < 0 or (shape[0] * inner > UNROLLED and inner <= _WIDEST):
        return _rows(value, kind)
    if all(size >= 0 for size in shape) and math.prod(shape) <= UNROLLED:
        return _unrolled(value, kind)
    return [_listed(value[index], kind) for index in range(shape[0])]


def _unrolled(value: paddle.Tensor, kind: type) -> Any:
    """A list of Python's, for a value of known size."""
    shape = list(value.shape)
    if not math.prod(shape):
        return _nested(shape, iter(()))
    numbers = paddle.unbind(paddle.reshape(value, [-1]) if len(shape) > 1 else value)
    return _nested(shape, iter([mark_number(number, kind) for number in numbers]))


def _nested(shape: list[int], items: Any) -> Any:
    """``items`` one after the other, in lists of this shape."""
    if not shape:
        return next(items)
    return [_nested(shape[1:], items) for _ in range(shape[0])]


def _rows(value: paddle.Tensor, kind: type) -> DynamicList:
    """A list of the run, for a value whose first dimension is open or long.

    Raises:
        NotStaticError: (D2S208) the run decides how long its items are, or they are too long.
    """
    shape = list(value.shape[1:])
    if any(size < 0 for size in shape) or math.prod(shape) > _WIDEST:
        raise error_here(
            NotStaticError,
            f"tolist() of a tensor of shape {list(value.shape)} is asked for, of which only the "
            "run knows how many lists of numbers it is",
            "ask for those of one row after the other, or compute with the tensor",
        )
    count = math.prod(shape)
    zeros = [mark_number(paddle.zeros([], value.dtype), kind) for _ in range(count)]
    columns = paddle.unbind(paddle.reshape(value, [-1, count]), 1) if shape else [value]
    return of_columns(element_of(_nested(shape, iter(zeros))), list(columns), "list")
