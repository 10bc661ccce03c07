"""A second name for the tensor sees the write.

exercises: item assignment through one of two names; an operator result read before the write
rows: 87, 88
"""

import paddle


def alias(x):
    y = x * 2
    z = y
    before = y.sum()
    y[0] = 10.0
    if before > 0:
        z[1] = -10.0
    copy = y.clone()
    z[2] = 99.0
    return y, z, before, copy


def build():
    return alias


def inputs():
    yield (paddle.to_tensor([1.0, 2.0, 3.0]),)
    yield (paddle.to_tensor([1.0, -2.0, -3.0]),)
