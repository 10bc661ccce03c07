"""Functions of Paddle that make tensors of numbers, which take those of the run as well."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import paddle

from d2s import paddle_bridge as bridge
from d2s.runtime.calls.applying import applied
from d2s.runtime.python import making
from d2s.runtime.python.tolist import tolist
from d2s.runtime.trace import current
from d2s.runtime.values.tensors import as_value, cast_plain, is_tensor, number_kind


def as_dtype_of(x: object, number: bridge.Value) -> bridge.Value:
    """A number as a tensor of the dtype of ``x``."""
    return cast_plain(number, as_value(x).dtype)


def as_default(_: object, number: bridge.Value) -> bridge.Value:
    """A float as a tensor that is made of one."""
    is_float = number_kind(number) is float
    return cast_plain(number, paddle.get_default_dtype()) if is_float else number


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
