"""Retry once when the first value is not good enough.

exercises: the condition of a while is a tensor before the first trip and a Python bool after it
rows: 20
"""

import paddle


def retry(x, bound):
    again = x.sum() < bound
    while again:
        x = x * 2 + 1
        again = False
    return x


def build():
    return retry


def inputs():
    for bound in (0.0, 5.0, 100.0):
        yield paddle.to_tensor([1.0, 2.0]), paddle.to_tensor(bound)
