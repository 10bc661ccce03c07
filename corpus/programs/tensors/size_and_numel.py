"""Parameters counted in several ways.

exercises: x.size, numel(), prod of the shape, paddle.shape, len(x.shape) returned and in arithmetic
rows: 89
"""

import math

import paddle


def counted(x):
    n = x.size
    mean = x.sum() / n
    if mean > 1:
        mean = mean / x.numel()
    return mean, n, math.prod(x.shape), paddle.shape(x), len(x.shape)


def build():
    return counted


def inputs():
    yield (paddle.to_tensor([[1.0, 2.0]]),)
    yield (paddle.to_tensor([[-1.0, -2.0]]),)
