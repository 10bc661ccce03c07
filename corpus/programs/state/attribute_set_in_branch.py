"""A plain object whose attribute is set in a branch.

exercises: attribute of a plain object assigned on one and on both sides of a tensor branch
rows: 84
"""

import paddle


class Meter:
    def __init__(self, start):
        self.value = start
        self.peak = start * 2


def measure(x, bound):
    meter = Meter(x)
    if x.max() > bound:
        meter.peak = x * 5
        meter.value = meter.value + 1
    else:
        meter.value = meter.value - 1
    return meter.value * 2, meter.peak


def build():
    return measure


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    for bound in (1.0, 3.0):
        yield x, paddle.to_tensor(bound)
