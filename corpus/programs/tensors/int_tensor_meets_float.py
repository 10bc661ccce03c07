"""Counts that a branch scales by a Python float or leaves as they are.

exercises: int tensor plus float; int tensor true division; int power; python int stays int64
rows: 70
"""

import paddle


def average(count, x):
    half = count / 2
    mean = count + 0.5
    if count.sum() > 3:
        extra = 2
    else:
        extra = 5
    return half * x, mean, count * extra, count**2, x + extra


def build():
    return average


def inputs():
    x = paddle.to_tensor([0.5, 1.5])
    yield paddle.to_tensor([1, 2]), x
    yield paddle.to_tensor([3, 2]), x
