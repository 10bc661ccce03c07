"""A product that falls back when the shapes do not fit.

exercises: try/except of an error that Paddle raises for shapes
rows: 58
"""

import paddle


def product(a, b):
    try:
        y = a @ b
    except (ValueError, RuntimeError):
        y = a.sum() * b
    if y.sum() > 5:
        y = y - 1
    return y


def build():
    return product


def inputs():
    a = paddle.to_tensor([[1.0, 2.0]])
    yield a, paddle.to_tensor([[1.0], [2.0]])
    yield a, paddle.to_tensor([[1.0, 1.0, 0.5]])
