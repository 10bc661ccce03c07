"""The first trip is special.

exercises: a Python bool rebound without a condition in a range with a tensor bound
rows: 23, 26
"""

import paddle


def warm_up(x, n):
    first = True
    for i in range(n):
        if first:
            x = x + 10
            first = False
        x = x * 0.5
    return x, first


def build():
    return warm_up


def inputs():
    for n in (0, 1, 3):
        yield paddle.to_tensor([1.0, 2.0]), paddle.to_tensor(n)
