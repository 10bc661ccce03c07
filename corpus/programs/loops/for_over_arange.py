"""Positional encodings that are added for the first n positions.

exercises: for over paddle.arange of a tensor; the value used as an index
rows: 27
"""

import paddle


def encode(x, n):
    total = paddle.zeros([])
    for k in paddle.arange(0, n):
        total = total + x[k] * (k + 1)
    return total


def build():
    return encode


def inputs():
    for n in (0, 1, 3):
        yield paddle.to_tensor([1.0, 2.0, 3.0]), paddle.to_tensor(n)
