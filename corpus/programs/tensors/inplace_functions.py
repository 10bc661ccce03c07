"""Activations by the functions whose names end in an underscore.

exercises: paddle.tanh_, F.relu_, paddle.increment, paddle.assign to an output
rows: 88
"""

import paddle
from paddle.nn import functional as F


def activated(x, count):
    y = x * 2
    F.relu_(y)
    z = x + 1
    paddle.tanh_(z)
    n = count + 0
    paddle.increment(n)
    if n > 2:
        y = y * 2
    return y, z, n


def build():
    return activated


def inputs():
    yield paddle.to_tensor([1.0, -2.0]), paddle.to_tensor(1.0)
    yield paddle.to_tensor([1.0, -2.0]), paddle.to_tensor(2.0)
