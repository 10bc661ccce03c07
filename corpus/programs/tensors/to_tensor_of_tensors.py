"""Weights that are made from the data, and are constants of the loss.

exercises: paddle.to_tensor of a tensor, and of a list with tensors
rows: 88
"""

import paddle


def weighted(x):
    total = paddle.to_tensor(x.sum())
    bounds = paddle.to_tensor([x.min(), 0.5 * x.max(), x.mean()])
    kept = paddle.to_tensor(x)
    if total > 0:
        kept[0] = 10.0
    return (x * kept).sum() * total, bounds


def build():
    return weighted


def inputs():
    yield (paddle.to_tensor([1.0, 2.0, 4.0]),)
    yield (paddle.to_tensor([-1.0, -2.0, 0.5]),)
