"""Constants that both sides set alike remain Python numbers for shapes, axes, ranges and indices.

exercises: equal int constants in branches; used as axis, shape, range bound and list index
rows: 69
"""

import paddle

NAMES = ["low", "mid", "high"]


def summarise(x, flag):
    if flag > 0:
        axis, width, which, trips = 1, 2, 2, 3
        x = x + 1
    else:
        axis, width, which, trips = 1, 2, 2, 3
        x = x - 1
    total = paddle.zeros([width])
    for i in range(trips):
        total = total + x.sum(axis=axis) * i
    return total, x.reshape([width, -1]), NAMES[which], trips


def build():
    return summarise


def inputs():
    x = paddle.to_tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    yield x, paddle.to_tensor(1)
    yield x, paddle.to_tensor(0)
    yield x * 2, paddle.to_tensor(1)
