"""Bisection with its interval in a dataclass that is replaced each trip.

exercises: dataclass rebound in a tensor while by dataclasses.replace
rows: 17, 83
"""

import dataclasses

import paddle


@dataclasses.dataclass
class Interval:
    low: paddle.Tensor
    high: paddle.Tensor


def bisect(low, high, target):
    where = Interval(low, high)
    while where.high - where.low > 0.3:
        middle = (where.low + where.high) / 2
        if middle * middle > target:
            where = dataclasses.replace(where, high=middle)
        else:
            where = dataclasses.replace(where, low=middle)
    return where


def build():
    return bisect


def inputs():
    for high, target in ((2.0, 2.0), (0.2, 2.0), (8.0, 2.0)):
        yield paddle.to_tensor(0.0), paddle.to_tensor(high), paddle.to_tensor(target)
