"""A gradient that is clipped or grown, in place, by a condition.

exercises: in-place methods in both branches of a tensor if on a tensor made outside
rows: 88
"""

import paddle


def adjust(x, limit):
    y = x * 3
    z = y
    if y.sum() > limit:
        y.scale_(0.1)
    else:
        y.add_(x)
        z.multiply_(x)
    return y, z - x


def build():
    return adjust


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    yield x, paddle.to_tensor(5.0)
    yield x, paddle.to_tensor(50.0)
