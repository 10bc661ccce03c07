"""Rejection sampling: draw until a value lies below a limit.

exercises: paddle.rand in a tensor loop; fresh draws in each trip
rows: 73
"""

import paddle


def draw_below(limit, x):
    value = paddle.rand([])
    tries = 1
    while value > limit:
        value = paddle.rand([])
        tries += 1
    return value * x, tries


def build():
    return draw_below


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    for limit in (0.9, 0.2, 0.05, 1.0):
        yield paddle.to_tensor(limit), x
