"""Median of three readings by Python's sorted.

exercises: sorted of a list of tensors; reverse
rows: 15
"""

import paddle


def middle(a, b, c):
    low, mid, high = sorted([a, b, c])
    first = sorted([a, b], reverse=True)[0]
    return mid * 2, high - low, first


def build():
    return middle


def inputs():
    for row in ((3.0, 1.0, 7.0), (1.0, 2.0, 4.0), (9.0, 5.0, 1.0), (2.0, 2.0, 1.0)):
        yield tuple(paddle.to_tensor(v) for v in row)
