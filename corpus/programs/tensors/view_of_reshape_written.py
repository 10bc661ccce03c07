"""A flat view of a matrix is written.

exercises: write through reshape, flatten, t and transpose; slices of slices
rows: 88
"""

import paddle

GRAD = False  # a write through a view is not recorded for gradients of the whole


def stamp(x):
    y = x * 1
    flat = y.reshape([6])
    flat[4] = 40.0
    turned = y.t()
    turned[0, 1] = -1.0
    part = y[:, 1:][0]
    part[0] = 77.0
    return y, flat, turned, part


def build():
    return stamp


def inputs():
    yield (paddle.to_tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),)
    yield (paddle.to_tensor([[0.0, 2.0, 3.0], [4.0, 5.0, 9.0]]),)
