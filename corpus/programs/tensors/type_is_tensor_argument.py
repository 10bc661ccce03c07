"""Scalars and tensors told apart by their exact type.

exercises: type(x) is paddle.Tensor of an argument and of a result; type(x) in a tuple
rows: 67
"""

import paddle


def kinds(x, scale):
    y = x * scale
    if y.sum() > 0:
        y = y + 1
    return y, type(x) is paddle.Tensor, type(y) == paddle.Tensor, type(scale) in (int, float)  # noqa: E721


def build():
    return kinds


def inputs():
    yield paddle.to_tensor([1.0, 2.0]), 2.0
    yield paddle.to_tensor([-1.0, -2.0]), 2.0
