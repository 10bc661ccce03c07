"""Leaky ReLU for each entry of a tensor by a list comprehension.

exercises: list comprehension over a tensor of known length with a ternary
rows: 48, 49
"""

import paddle


def leaky(x):
    return paddle.stack([v if v > 0 else 0.1 * v for v in x])


def build():
    return leaky


def inputs():
    for values in ([1.0, -2.0, 3.0], [-1.0, -2.0, -3.0]):
        yield (paddle.to_tensor(values),)
