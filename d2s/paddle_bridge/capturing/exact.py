"""Numbers in operations that a program is captured with: as exact as dygraph has them.

Paddle 3.3.1 rounds most numbers to float32 while a program is made, whatever the tensors are::

    x * 0.1       float64, in dygraph 0.1; in a program 0.10000000149011612
    k + 16777217  int64, in dygraph 16777217; in a program 16777216

Where a number is none of float32 and the tensor is of a wider type, the operation gets it as a
tensor here.  Integers from 2**53 on, which Paddle rounds in constants too, are put together.
Matrices of two dtypes are multiplied in the wider one; a program cut the floats of one to the
integers of the other.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import math
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
import paddle

from d2s.paddle_bridge.capturing import quantized
from d2s.paddle_bridge.names import (
    creation,
    dygraph_guard_if_declarative,
    to_static_mode_guard,
    to_tensor_static,
)

_WIDE: Final = (paddle.float64, paddle.complex128, paddle.int32, paddle.int64)

_NARROW: Final = (paddle.float16, paddle.bfloat16)

_PARTS: Final = {paddle.complex64: paddle.float32, paddle.complex128: paddle.float64}

_DTYPES: Final = {
    name: getattr(paddle, name) for name in ("float16", "bfloat16", "float32", "float64")
}

_INTEGERS: Final = (paddle.uint8, paddle.int8, paddle.int16, paddle.int32, paddle.int64)

_DOUBLES: Final = 1 << 53
"""From here on a double is not every integer."""

_HALF: Final = 32
"""The bits of the lower part of an integer that is put together."""

_OPEN_END: Final = (1 << 63) - 1 - (1 << 39)
"""What Paddle clips an int64 by that has no upper bound."""

Operation = Callable[..., Any]


def is_rounded(number: Any, dtype: Any) -> bool:
    """Whether Paddle would take another number for an operation of a tensor of ``dtype``."""
    if not isinstance(number, int | float) or dtype not in _WIDE or number == _OPEN_END:
        return False
    return ctypes.c_float(number).value != number and not math.isnan(number)


def as_float32(number: Any, dtype: Any) -> Any:
    """What an operation of a tensor of ``dtype`` makes of a number that dygraph rounds, too."""
    return type(number)(ctypes.c_float(number).value) if is_rounded(number, dtype) else number


def divisor(value: Any, number: Any) -> Any:
    """What stands for ``number`` in ``value / number``, where a program has a product.

    Dygraph divides: a product with the rounded reciprocal differs in the last bit.

    Args:
        value: in a program.
        number: of Python's own.

    Returns:
        The number, or a 0-D tensor.
    """
    if not _is_number(number):
        return number
    dtype = value.dtype if value.is_floating_point() else _PARTS.get(value.dtype)
    dtype = dtype or paddle.get_default_dtype()
    # By zero, Paddle would take the reciprocal while it captures, which Python refuses.
    if number == 0 and math.copysign(1.0, number) < 0:  # Paddle keeps one attribute for both zeros
        zero, sign = paddle.full([], 0.0, dtype), paddle.full([], -1.0, dtype)
        return paddle._C_ops.multiply(zero, sign)
    if number == 0 or not _halves(number):
        return paddle.full([], number, dtype)
    return number


def _is_number(thing: Any) -> bool:
    return type(thing) in (int, float)


def _halves(number: float) -> bool:
    """Whether its reciprocal is exact."""
    return abs(math.frexp(number)[0]) == 0.5


def quotient(value: Any, number: Any) -> Any:
    """``value / number`` where a program would round otherwise than dygraph does.

    Before Paddle 3.3.1 dygraph multiplies by a reciprocal.  From then on it divides, float16 and
    bfloat16 on the CPU as float32, where programs cannot divide them.

    Args:
        value: in a program.
        number: of Python's own.

    Returns:
        The quotient, or ``None`` where a program divides as dygraph does.
    """
    if not _is_number(number):
        return None
    dtype = value.dtype
    if dtype in _INTEGERS or dtype == paddle.bool:
        dtype = _DTYPES[paddle.get_default_dtype()]
    narrow = dtype in _NARROW and paddle.get_device() == "cpu"
    if _multiplies():
        factor = _reciprocal(dtype, number, math.copysign(1.0, number))
        return _operated(paddle._C_ops.multiply, value, factor, dtype, narrow)
    if not narrow or number == 0 or _halves(number):
        return None
    return _operated(paddle.divide, value, number, dtype, narrow)


def _operated(operation: Operation, value: Any, number: Any, dtype: Any, narrow: bool) -> Any:
    """Of a tensor and of a number that is rounded to ``dtype``; as float32 where it is narrow."""
    operands = (value, paddle.full([], number, _PARTS.get(dtype, dtype)))
    for made in (dtype, paddle.float32) if narrow else (dtype,):
        operands = tuple(x if x.dtype == made else paddle.cast(x, made) for x in operands)
    result = operation(*operands)
    return paddle.cast(result, dtype) if narrow else result


@functools.cache
def _multiplies() -> bool:
    """Whether this Paddle's dygraph has a product where a number divides a tensor."""
    with _plain_dygraph():
        values = paddle.arange(1, 64, dtype="float32")
        return bool((values / 7 == values * (1 / 7)).all())


@functools.lru_cache(maxsize=4096)
def _reciprocal(dtype: Any, number: float, sign: float) -> float:
    """The factor that dygraph has for a divisor; ``sign`` tells the two zeros apart."""
    with _plain_dygraph():
        made = paddle.ones([], dtype) / number
        return float((made.real() if dtype in _PARTS else made).item())


@contextlib.contextmanager
def _plain_dygraph() -> Iterator[None]:
    """Run operations in the middle of a capture; ``auto_cast`` says nothing about them."""
    with (
        dygraph_guard_if_declarative(),
        to_static_mode_guard(is_to_static=False),
        paddle.no_grad(),
        paddle.amp.auto_cast(enable=False),
    ):
        yield


@contextlib.contextmanager
def exact_numbers() -> Iterator[None]:
    """Keep the numbers of operations that are made meanwhile; dygraph has them exact already."""
    operations = paddle._C_ops
    replaced = {
        (operations, name): _in_programs(keeping, getattr(operations, name), _NAMES.get(name, ()))
        for name, keeping in _KEEPING.items()
    }
    replaced[creation, "_to_tensor_static"] = _doubles_kept(to_tensor_static)
    for layer, keeping in quantized.LAYERS.items():
        replaced[layer, "forward"] = _in_programs(keeping, layer.forward, ())
    if hasattr(paddle.linalg, "matmul"):  # where it is, it is not among the operations
        replaced[paddle.linalg, "matmul"] = paddle.matmul
    before = {place: getattr(*place) for place in replaced}
    try:
        for place, keeping in replaced.items():
            setattr(*place, keeping)
        yield
    finally:
        for place, original in before.items():
            setattr(*place, original)


_NAMES: Final = {"matmul": (("x", "input"), ("y", "other", "mat2"))}
"""How the operands of operations that users call are called, by their place."""


def _in_programs(
    keeping: Operation, original: Operation, places: tuple[tuple[str, ...], ...]
) -> Operation:
    def operation(*arguments: Any, **options: Any) -> Any:
        for names in places[len(arguments) :]:
            arguments += tuple(options.pop(name) for name in names if name in options)
        if paddle.in_dynamic_mode() or options.keys() - {"out"}:
            return original(*arguments, **options)
        return keeping(functools.partial(original, **options), *arguments)

    return operation


def _doubles_kept(original: Operation) -> Operation:
    """For ``to_tensor``, which makes float32 of Python's numbers before it makes float64."""

    @functools.wraps(original)
    def to_tensor(data: Any, dtype: Any = None, *rest: Any, **options: Any) -> Any:
        if dtype in (paddle.float64, "float64") and _has_doubles(data):
            with contextlib.suppress(TypeError, ValueError):  # a dict; ragged
                data = np.array(data, np.float64)
        return original(data, dtype, *rest, **options)

    return to_tensor


def _has_doubles(data: Any) -> bool:
    """Whether there are Python's numbers in ``data``, and nothing else."""
    return all(map(_is_number, paddle.utils.flatten(data)))


def _scalar(number: Any, dtype: Any) -> Any:
    """A number as an operation of a tensor of ``dtype`` takes it."""
    if not is_rounded(number, dtype):
        return number
    return paddle.full([1], number, "int64" if isinstance(number, int) else "float64")


def _scale(original: Operation, value: Any, factor: Any, bias: Any, after: Any) -> Any:
    dtype = value.dtype
    factor = _scalar(factor, dtype)
    if not is_rounded(bias, dtype):
        return original(value, factor, bias, after)
    term = paddle.full([], bias, dtype)
    if not after:
        return original(paddle._C_ops.add(value, term), factor, 0.0, True)
    scaled = value if factor is None or _is_one(factor) else original(value, factor, 0.0, True)
    return paddle._C_ops.add(scaled, term)


def _is_one(factor: Any) -> bool:
    return isinstance(factor, int | float) and factor == 1


def _clip(original: Operation, value: Any, least: Any, most: Any, *rest: Any) -> Any:
    return original(value, _scalar(least, value.dtype), _scalar(most, value.dtype), *rest)


def _matmul(original: Operation, one: Any, other: Any, *rest: Any) -> Any:
    """Of two dtypes: a program cuts the floats of one to integers."""
    if _yields(one, other):
        one = paddle.cast(one, other.dtype)
    elif _yields(other, one):
        other = paddle.cast(other, one.dtype)
    return original(one, other, *rest)


def _diag_embed(original: Operation, *arguments: Any) -> Any:
    """An operation without a gradient: dygraph says so of its result."""
    result = original(*arguments)
    result.stop_gradient = True
    return result


def _yields(one: Any, other: Any) -> bool:
    """Whether a tensor takes the dtype of another one."""
    return one.dtype in _INTEGERS and bool(other.is_floating_point() or other.is_complex())


def _full_like(original: Operation, value: Any, number: Any, dtype: Any, *rest: Any) -> Any:
    return original(value, _scalar(number, dtype), dtype, *rest)


def _full(original: Operation, shape: Any, number: Any, dtype: Any, *rest: Any) -> Any:
    if not _is_large(number) or dtype not in (paddle.int64, "int64"):
        return original(shape, number, dtype, *rest)
    high, low = divmod(number, 1 << _HALF)
    return _joined(*(original(shape, part, dtype, *rest) for part in (high, low)))


def _assign_value(
    original: Operation, into: Any, shape: Any, dtype: Any, values: Any, *rest: Any
) -> Any:
    if not any(map(_is_large, values)):
        return original(into, shape, dtype, values, *rest)
    parts = zip(*(divmod(value, 1 << _HALF) for value in values), strict=True)
    made = [original(paddle.zeros(shape, dtype), shape, dtype, list(part), *rest) for part in parts]
    return paddle._C_ops.assign_out_(_joined(*made), into)


def _flatten(original: Operation, value: Any, start: Any, stop: Any, *rest: Any) -> Any:
    """Of complex numbers, for which a program has no such operation."""
    rank = len(value.shape) or 1
    kept = list(value.shape[stop % rank + 1 :])
    if not value.is_complex() or any(size < 0 for size in kept):
        return original(value, start, stop, *rest)
    return paddle.reshape(value, [*[0] * (start % rank), -1, *kept])


def _is_large(number: Any) -> bool:
    return isinstance(number, int) and not -_DOUBLES < number < _DOUBLES


def _joined(high: Any, low: Any) -> Any:
    unit = paddle.full([], 1 << _HALF, "int64")
    return paddle._C_ops.add(paddle._C_ops.multiply(high, unit), low)


_KEEPING: Final[dict[str, Operation]] = {
    "scale": _scale,
    "clip": _clip,
    "flatten": _flatten,
    "full_like": _full_like,
    "full": _full,
    "assign_value_": _assign_value,
    "matmul": _matmul,
    "diag_embed": _diag_embed,
    **quantized.OPERATIONS,
}
"""By the names of operations: the original one, and its arguments; gives its result."""
