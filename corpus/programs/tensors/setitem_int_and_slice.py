"""Mark the ends and the middle of a signal.

exercises: item assignment with an int, a negative int, a slice and a step, a number and a tensor
rows: 87
"""

import paddle


def mark(x, value):
    y = x * 1
    y[0] = 7.0
    y[-1] = value
    y[1:3] = value * 2
    y[::3] = 0.5
    if x.sum() > 0:
        y = y + x
    return y


def build():
    return mark


def inputs():
    value = paddle.to_tensor(3.0)
    yield paddle.to_tensor([1.0, 2.0, 3.0, 4.0, 5.0]), value
    yield paddle.to_tensor([-1.0, -2.0, -3.0, 4.0, -5.0]), value
