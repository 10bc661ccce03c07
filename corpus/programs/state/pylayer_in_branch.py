"""Straight-through rounding, used for large inputs only.

exercises: PyLayer in a tensor branch
rows: 100
"""

import paddle
from paddle.autograd import PyLayer


class Round(PyLayer):
    @staticmethod
    def forward(ctx, x):
        return paddle.round(x)

    @staticmethod
    def backward(ctx, dy):
        return dy


def quantise(x):
    if x.abs().max() > 1:
        x = Round.apply(x * 2) / 2
    else:
        x = x * 3
    return x


def build():
    return quantise


def inputs():
    yield (paddle.to_tensor([1.3, -2.1]),)
    yield (paddle.to_tensor([0.3, -0.1]),)
