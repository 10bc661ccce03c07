"""Weigh the entries of a vector by their index.

exercises: enumerate over a tensor, with a tensor branch on the entry
rows: 28
"""

import paddle


def weigh(values):
    total = paddle.zeros([])
    last = 0
    for i, v in enumerate(values):
        if v > 0:
            total = total + i * v
            last = i
    return total, last


def build():
    return weigh


def inputs():
    yield (paddle.to_tensor([1.0, 2.0, 3.0]),)
    yield (paddle.to_tensor([-1.0, 2.0, -3.0]),)
    yield (paddle.to_tensor([-1.0, -2.0, -3.0]),)
