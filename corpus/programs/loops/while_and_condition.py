"""Halve a vector until it is small, or as often as is allowed.

exercises: while on a tensor condition joined by and; a Python counter beside a tensor
rows: 10, 17
"""

import paddle


def shrink(x, limit):
    trips = 0
    while x.abs().max() > limit and trips < 4:
        x = x * 0.5
        trips = trips + 1
    return x, trips


def build():
    return shrink


def inputs():
    for start in (0.5, 1.5, 3.0, 100.0):
        yield paddle.to_tensor([start, -start / 2]), paddle.to_tensor(1.0)
