"""Bands of a value by chained comparisons of three and four operands.

exercises: chained comparison as a condition; mixed operators; python numbers between tensors
rows: 13
"""

import paddle


def band(x, low, high):
    if 0 <= x < low:
        return x * 2
    elif low <= x <= high < 10:
        return x + high
    elif -1 > x != low:
        return -x
    return x


def build():
    return band


def inputs():
    low, high = paddle.to_tensor(2.0), paddle.to_tensor(4.0)
    for x in (1.0, 3.0, -5.0, 7.0, -0.5):
        yield paddle.to_tensor(x), low * 1, high * 1
    yield paddle.to_tensor(3.0), low * 1, high * 5
