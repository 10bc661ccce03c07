"""Tensors that are the same for every peer."""

from __future__ import annotations

import paddle


def square(*, gradient: bool = False, size: int = 4) -> paddle.Tensor:
    """A square of numbers between 0 and 1."""
    return ramp(size, size, gradient=gradient)


def ramp(*shape: int, gradient: bool = False) -> paddle.Tensor:
    """Numbers between 0 and 1, rising."""
    count = 1
    for size in shape:
        count *= size
    values = paddle.arange(count, dtype="float32").reshape(list(shape)) / count
    values.stop_gradient = not gradient
    return values
