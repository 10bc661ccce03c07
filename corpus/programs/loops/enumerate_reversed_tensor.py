"""Discount from the end: the last entry counts most.

exercises: enumerate(reversed(tensor)); zip(reversed(tensor), list)
rows: 28, 30
"""

import paddle


def discount(x):
    total = paddle.zeros([])
    for power, v in enumerate(reversed(x)):
        if v > 0:
            total = total + v * 0.5**power
    for v, w in zip(reversed(x), [1.0, 10.0]):
        total = total + v * w
    return total


def build():
    return discount


def inputs():
    yield (paddle.to_tensor([1.0, 2.0, 3.0]),)
    yield (paddle.to_tensor([-1.0, 2.0, -3.0]),)
