"""A tensor from the enclosing module is overwritten between calls.

exercises: captured global tensor changed by set_value between calls
rows: 98
"""

import paddle

target = paddle.zeros([2])


def distance(x):
    difference = x - target
    if difference.abs().sum() > 2:
        return (difference * difference).sum()
    return difference.abs().sum()


def BEFORE(index):
    target.set_value(paddle.to_tensor([float(index), 0.5]))


def build():
    return distance


def inputs():
    for value in (1.0, 1.0, 9.0):
        yield (paddle.to_tensor([value, 0.5]),)
