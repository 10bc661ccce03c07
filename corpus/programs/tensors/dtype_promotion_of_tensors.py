"""Losses of different precision added up.

exercises: float32 with float64, with float16 and with bool; int32 with int64
rows: 70
"""

import paddle


def combined(a, b, n):
    both = a + b
    if both.sum() > 3:
        both = both * 2
    mask = a > 0.5
    return both, a * mask.astype(a.dtype), n.astype("int64") + 1, a.astype("float16") + a


def build():
    return combined


def inputs():
    b = paddle.to_tensor([1.0, 2.0], dtype="float64")
    n = paddle.to_tensor([1, 2], dtype="int32")
    yield paddle.to_tensor([1.0, 0.25]), b, n
    yield paddle.to_tensor([-1.0, 0.25]), b, n
