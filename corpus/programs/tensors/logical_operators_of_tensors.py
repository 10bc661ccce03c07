"""Masks combined by operators.

exercises: & | ^ ~ on bool tensors and on integers; shifts
rows: 10
"""

import paddle


def combine(x, flags):
    inside = (x > 0) & (x < 2) | (x == 5)
    outside = ~inside ^ (x > 100)
    bits = (flags << paddle.to_tensor(1)) | (flags >> paddle.to_tensor(1))
    if (inside & ~outside).any():
        x = paddle.where(inside, x, -x)
    return x, outside, bits, ~flags


def build():
    return combine


def inputs():
    flags = paddle.to_tensor([1, 6])
    yield paddle.to_tensor([1.0, 5.0]), flags
    yield paddle.to_tensor([-1.0, 3.0]), flags
