"""Regroup a vector into as many rows as a tensor asks for.

exercises: python int from a branch in a shape
rows: 69
"""

import paddle


def regroup(x, fine):
    if fine > 0:
        rows = 6
    else:
        rows = 2
    grid = x.reshape([rows, -1])
    bias = paddle.ones([rows, 1])
    return grid + bias


def build():
    return regroup


def inputs():
    x = paddle.arange(12, dtype="float32")
    for fine in (1, 0, 2):
        yield x, paddle.to_tensor(fine)
