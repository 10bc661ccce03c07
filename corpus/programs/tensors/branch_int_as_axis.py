"""Normalise over rows or columns, whichever spreads more.

exercises: python int from a branch as the axis of an operator
rows: 69
"""

import paddle


def normalise(x):
    if x.std(axis=0).max() > x.std(axis=1).max():
        axis = 0
    else:
        axis = 1
    total = x.sum(axis=axis, keepdim=True)
    return x / total, axis


def build():
    return normalise


def inputs():
    x = paddle.to_tensor([[1.0, 9.0], [2.0, 3.0]])
    yield (x,)
    yield (x.t().contiguous(),)
