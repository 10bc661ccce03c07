"""A decorator from another module around a function of this one.

exercises: imported decorator with wraps
rows: 52
"""

import paddle

from corpus.programs.functions._helpers import clamped


@clamped
def energy(x, factor):
    if x.sum() > 0:
        return x * factor
    return x * x * factor


def run(x, factor):
    return energy(x, factor=factor) + 1


def build():
    return run


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    for factor in (1.0, 8.0):
        yield x, paddle.to_tensor(factor)
        yield -x, paddle.to_tensor(factor)
