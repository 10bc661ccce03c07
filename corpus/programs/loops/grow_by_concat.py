"""Append the sum of the last two entries until a bound is passed.

exercises: loop variable that grows by concat in a tensor while
rows: 22
"""

import paddle


def fibonacci(x, bound):
    while x[-1] < bound:
        x = paddle.concat([x, x[-1:] + x[-2:-1]])
    return x


def build():
    return fibonacci


def inputs():
    for bound in (0.5, 3.0, 20.0):
        yield paddle.to_tensor([1.0, 1.5]), paddle.to_tensor(bound)
