"""A Python int from a branch must not change the dtype of int32 or float32 tensors.

exercises: python int merged with python int; dtype of products with int32 and float32
rows: 70
"""

import paddle


def scaled(x, ids, double):
    factor = 1
    if double > 0:
        factor = 2
    return x * factor, ids * factor, ids // factor, x / factor


def build():
    return scaled


def inputs():
    x, ids = paddle.to_tensor([1.0, 3.0]), paddle.to_tensor([4, 5], "int32")
    for double in (1, 0, 2):
        yield x, ids, paddle.to_tensor(double)
