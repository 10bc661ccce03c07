"""Divide a vector by its norm where the norm is large.

exercises: reduction before the branch, used inside together with its own argument
rows: 1
"""

import paddle


def unit(x):
    norm = (x * x).sum().sqrt()
    mean = x.mean()
    if norm > 1:
        x = x / norm
    else:
        x = x * mean
    return x


def build():
    return unit


def inputs():
    for x in ([3.0, 4.0], [0.3, 0.4], [6.0, 8.0]):
        yield (paddle.to_tensor(x),)
