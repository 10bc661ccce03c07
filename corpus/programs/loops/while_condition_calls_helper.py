"""Iterate until a helper finds the residual small.

exercises: while whose condition is a call of a function that branches on a tensor
rows: 17, 54
"""

import paddle


def is_far(x, y):
    gap = (x - y).abs().max()
    if gap > 5:
        return gap > 6
    return gap > 0.5


def approach(x, y):
    while is_far(x, y):
        x = x + 0.5 * (y - x)
    return x


def build():
    return approach


def inputs():
    for v in (1.0, 3.0, 6.5, 20.0):
        yield paddle.to_tensor([v, 0.0]), paddle.to_tensor([1.0, 0.0])
