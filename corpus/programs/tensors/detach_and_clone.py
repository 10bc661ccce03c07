"""A straight-through estimator.

exercises: detach, clone, stop_gradient read and assigned
rows: 88
"""

import paddle


def straight_through(x):
    hard = (x > 0.5).astype("float32")
    soft = paddle.nn.functional.sigmoid(x)
    y = soft + (hard - soft).detach()
    target = y.clone()
    target.stop_gradient = True
    if target.sum() > 1:
        y = y * target
    return y, target.stop_gradient, y.stop_gradient


def build():
    return straight_through


def inputs():
    yield (paddle.to_tensor([1.0, 2.0]),)
    yield (paddle.to_tensor([0.1, 2.0]),)
