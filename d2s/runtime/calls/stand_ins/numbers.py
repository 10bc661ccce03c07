"""Functions of Paddle that are given numbers, which take those of the run as well."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Final

import paddle

from d2s import paddle_bridge as bridge
from d2s.runtime.aliasing.sizes.empties import may_be_empty
from d2s.runtime.calls.applying import applied
from d2s.runtime.python import making
from d2s.runtime.python.tolist import tolist
from d2s.runtime.trace import current
from d2s.runtime.values.callbacks import raise_when
from d2s.runtime.values.choice import Choice, each
from d2s.runtime.values.tensors import (
    as_value,
    cast_plain,
    is_tensor,
    number_kind,
    shape,
)


def as_dtype_of(x: object, number: bridge.Value) -> bridge.Value:
    """A number as a tensor of the dtype of ``x``."""
    return cast_plain(number, as_value(x).dtype)


def as_default(_: object, number: bridge.Value) -> bridge.Value:
    """A float as a tensor that is made of one."""
    is_float = number_kind(number) is float
    return cast_plain(number, paddle.get_default_dtype()) if is_float else number


def as_scale(_: object, number: bridge.Value) -> bridge.Value:
    """A number as the tensor that an operation of Paddle takes for a factor."""
    return cast_plain(number, "float32")


def taking_numbers(
    original: Callable[..., Any],
    names: tuple[str, ...],
    made: Callable[[object, bridge.Value], bridge.Value],
) -> Callable[..., Any]:
    """A function of Paddle that makes tensors of numbers, which takes those of the run as well.

    Args:
        original: the function.
        names: the parameters that may be numbers.
        made: from the first argument and a number to what the function's operation takes.
    """
    parameters = list(inspect.signature(original).parameters)

    def run(*arguments: object, **options: object) -> Any:
        given = dict(zip(parameters, arguments, strict=False)) | options
        first = given.get(parameters[0])
        places, named = list(arguments), dict(options)
        for name in names:
            number = given.get(name)
            if first is None or not bridge.is_value(number) or number_kind(number) is None:
                continue
            if name in options:
                named[name] = made(first, number)
            else:
                places[parameters.index(name)] = made(first, number)
        return applied(original, places, named)

    return run


def normal(
    mean: object = 0.0, std: object = 1.0, shape: object = None, name: str | None = None
) -> Any:
    """``paddle.normal``, which takes a number of the run for a tensor and forgets the shape."""
    numbers = [number_kind(each) is not None for each in (mean, std)]
    if not all(numbers) or not any(map(bridge.is_value, (mean, std))):
        return applied(paddle.normal, [mean, std, shape], {})
    return mean + std * applied(paddle.normal, [0.0, 1.0, shape], {})


def randint(
    low: object = 0,
    high: object = None,
    shape: Any = (1,),
    dtype: Any = None,
    name: str | None = None,
    **options: Any,
) -> Any:
    """``paddle.randint``, which has no operation for bounds that the run decides."""
    of_run = [bound for bound in (low, high) if is_tensor(bound)]
    if current() is None or not of_run or any(map(_is_no_number, of_run)):
        return applied(paddle.randint, [low, high, shape, dtype, name], options)
    first, end = (0, low) if high is None else (low, high)
    first, end = _as_float64(first), _as_float64(end)
    drawn = applied(paddle.rand, [shape, "float64"], {})
    return (first + paddle.floor(drawn * (end - first))).astype(dtype or "int64")


def _is_no_number(bound: Any) -> bool:
    """Whether dygraph takes a tensor for no bound: it has several elements, or none, or bools."""
    shape = list(bound.shape)
    return bound.dtype == paddle.bool or any(size not in (1, -1) for size in shape)


def _as_float64(bound: Any) -> Any:
    return cast_plain(as_value(bound), "float64") if is_tensor(bound) else bound


def rot90(x: object, k: object = 1, axes: object = (0, 1), name: str | None = None) -> Any:
    """``paddle.rot90``, which asks how often it is to turn."""
    if not _is_of_run(k) or number_kind(k) is float:
        return applied(paddle.rot90, [x, k, axes], {})
    turns = cast_plain(as_value(k), "int64") % 4
    count: Any = 3
    for fewer in (2, 1, 0):
        count = Choice(turns == fewer, fewer, count)
    return each(lambda known: applied(paddle.rot90, [x, known, axes], {}), count, exact=True)


def triangle(original: Callable[..., Any], *, lower: bool) -> Callable[..., Any]:
    """``paddle.tril`` or ``paddle.triu``, whose operation wants to know the diagonal."""

    def run(x: object, diagonal: object = 0, name: str | None = None) -> Any:
        is_matrix = is_tensor(x) and len(as_value(x).shape) > 1
        if not _is_of_run(diagonal) or number_kind(diagonal) is float or not is_matrix:
            return applied(original, [x, diagonal], {})
        value = as_value(x)
        rows, columns = (paddle.arange(size, dtype="int64") for size in shape(value)[-2:])
        ahead = columns.unsqueeze(0) - rows.unsqueeze(1)
        last = cast_plain(as_value(diagonal), "int64")
        kept = ahead <= last if lower else ahead >= last
        return paddle.where(kept, value, paddle.zeros_like(value))

    return run


def histogram(
    input: object,
    bins: object = 100,
    min: object = 0.0,
    max: object = 0.0,
    *others: object,
    **options: object,
) -> Any:
    """``paddle.histogram``, whose operation wants to know the range."""
    counts = (
        not others and not options and is_tensor(input) and str(as_value(input).dtype) in _COUNTED
    )
    counts = counts and any(map(_is_of_run, (min, max))) and not may_be_empty(as_value(input))
    if type(bins) is not int or bins < 1 or not counts:
        return applied(paddle.histogram, [input, bins, min, max, *others], options)
    value = as_value(input).flatten()
    low, high = (cast_plain(as_value(bound), "float64") for bound in (min, max))
    raise_when(paddle.logical_not(high >= low), ValueError(_ORDER))
    low, high = cast_plain(low, value.dtype), cast_plain(high, value.dtype)
    absent = low == high  # those of the data are meant
    low, high = (
        paddle.where(absent, found, given)
        for found, given in ((value.min(), low), (value.max(), high))
    )
    flat = low == high
    low, high = (paddle.where(flat, bound + by, bound) for bound, by in ((low, -1), (high, 1)))
    if "float" in str(value.dtype):
        raise_when(paddle.logical_not(paddle.isfinite(high - low)), ValueError(_RANGE))
        place = (value - low) * bins / (high - low)
    else:
        value, low, high = (cast_plain(each_, "int64") for each_ in (value, low, high))
        place = (value - low) * bins // (high - low)
    inside = paddle.logical_and(value >= low, value <= high)
    place = paddle.minimum(cast_plain(place, "int64"), paddle.full([], bins - 1, "int64"))
    place = paddle.where(inside, place, paddle.full([], bins, "int64"))
    return paddle.bincount(place, minlength=bins + 1)[:bins]


_COUNTED: Final = ("paddle.float32", "paddle.float64", "paddle.int32", "paddle.int64")
_ORDER: Final = "(InvalidArgument) max must be larger or equal to min."
_RANGE: Final = "(InvalidArgument) The range between max and min should be finite."


def _is_of_run(number: object) -> bool:
    return bridge.is_value(number) and number_kind(number) is not None


def spaced(original: Callable[..., Any]) -> Callable[..., Any]:
    """``paddle.linspace`` and its like, whose operation forgets how many numbers it makes."""

    def run(start: object, stop: object, num: object, *others: object, **options: object) -> Any:
        made = applied(original, [start, stop, num, *others], options)
        known = type(num) is int and options.get("out") is None and bridge.is_value(made)
        return paddle.reshape(made, [num]) if known else made

    return run


def making_(operator: Callable[..., Any]) -> Callable[..., Any]:
    """``operator``, which makes a tensor, of settled arguments."""

    def make(*arguments: object, **options: object) -> Any:
        return applied(operator, [making.settled(item) for item in arguments], options)

    return make


def tolist_(x: object) -> Any:
    """``paddle.tolist``."""
    return tolist(x) if current() is not None and is_tensor(x) else paddle.tolist(x)


OPERATORS: Final[dict[Any, Callable[..., Any]]] = {
    **{
        function: taking_numbers(function, ("scale_factor",), as_scale)
        for function in (paddle.nn.functional.interpolate, paddle.nn.functional.upsample)
    },
    paddle.histogram: histogram,
    paddle.linspace: spaced(paddle.linspace),
    paddle.logspace: spaced(paddle.logspace),
    paddle.normal: normal,
    paddle.randint: randint,
    paddle.rot90: rot90,
    paddle.tril: triangle(paddle.tril, lower=True),
    paddle.triu: triangle(paddle.triu, lower=False),
}
"""Functions of Paddle, without those that only want another dtype."""
