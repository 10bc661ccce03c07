"""A random walk of fixed steps that stays in a corridor.

exercises: chained comparison as the condition of a while
rows: 13, 17
"""

import paddle


def walk(x, low, high):
    steps = paddle.zeros([], "int64")
    while low < x <= high:
        x = x * -1.5
        steps = steps + 1
    return x, steps


def build():
    return walk


def inputs():
    for x in (0.5, 9.0, -9.0, 2.0):
        yield paddle.to_tensor(x), paddle.to_tensor(-3.0), paddle.to_tensor(4.0)
