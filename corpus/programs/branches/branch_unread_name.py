"""Clip a gradient; the factor is bound only where it is needed and nobody reads it later.

exercises: name first bound in one branch and not read afterwards
rows: 2
"""

import paddle


def clip_gradient(grad, limit):
    norm = (grad * grad).sum().sqrt()
    if norm > limit:
        factor = limit / norm
        report = "clipped"
        grad = grad * factor
    else:
        slack = limit - norm
    return grad, norm


def build():
    return clip_gradient


def inputs():
    limit = paddle.to_tensor(1.0)
    yield paddle.to_tensor([3.0, 4.0]), limit
    yield paddle.to_tensor([0.3, 0.4]), limit
    yield paddle.to_tensor([0.6, 0.8]), paddle.to_tensor(2.0)
