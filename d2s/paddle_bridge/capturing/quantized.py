"""Layers of ``paddle.quantization`` in a program: they compute what they compute in dygraph.

Of Paddle 3.3.1, two things are otherwise in a program:

- ``dequantize_linear`` quantizes once more, so that a model of ``PTQ(...).convert`` gives other
  numbers, also one that Paddle itself has saved; ``LinearQuanter`` asks for a tensor of the size of
  its input, which an open dimension does not tell, and does not use it;
- a fake quanter in ``eval`` mode is left without the scale that it then assigns to itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import paddle
from paddle.nn.quant.format import LinearDequanter, LinearQuanter

from d2s.errors import UnsupportedInGraphError

Operation = Callable[..., Any]


def _checked(scales: Any, bits: int, most: int) -> Any:
    """The scales: one, or one for each index of an axis."""
    if len(scales.shape) > 1 or most != (1 << (bits - 1)) - 1:
        raise UnsupportedInGraphError(
            "Paddle has no operations for weights quantized in groups, or to float8, in a program",
            cure="quantize with one scale for a tensor, or for each channel",
        )
    return scales


def _dequantize(original: Operation, given: Any, scales: Any, *rest: Any) -> tuple[Any, ...]:
    _, accum, state, axis, bits, _, most, *_ = rest
    scales = _checked(scales, bits, most)
    if axis >= 0:
        shape = [1] * len(given.shape)
        shape[axis] = -1
        scales = paddle.reshape(scales, shape)
    return (paddle.cast(given, "float32") * scales / float(most), state, accum, scales)


def _quantized(original: Operation, layer: Any, given: Any) -> Any:
    return _by(paddle._C_ops.quantize_linear, layer, given)


def _dequantized(original: Operation, layer: Any, given: Any) -> Any:
    return _by(paddle._C_ops.dequantize_linear, layer, given)


def _by(operation: Operation, layer: Any, given: Any) -> Any:
    """What an operation makes of the input of a layer, with its scales and its bounds."""
    bounds = layer._quant_axis, layer._bit_length, layer._qmin, layer._qmax
    scales = _checked(layer._scales, layer._bit_length, layer._qmax)
    zeros = paddle.zeros([1])
    values = paddle.cast(given, "float32"), scales, layer._zero_point, zeros, zeros
    result, *_ = operation(*values, *bounds, 0, True, False)
    return paddle.cast(result, given.dtype)


def _with_its_scale(original: Operation, given: Any, scale: Any, *rest: Any) -> Any:
    result, made, *others = original(given, scale, *rest)
    is_test = rest[4]
    return (result, scale if is_test else made, *others)


OPERATIONS: Final[dict[str, Operation]] = {
    "dequantize_linear": _dequantize,
    "fake_quantize_dequantize_moving_average_abs_max": _with_its_scale,
    "fake_quantize_moving_average_abs_max": _with_its_scale,
}
LAYERS: Final[dict[Any, Operation]] = {LinearQuanter: _quantized, LinearDequanter: _dequantized}
"""What stands for ``forward``: gets it, the layer, and the input."""
