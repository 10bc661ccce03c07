"""A gradient step is skipped only when it is both large and downhill.

exercises: return in an inner if without else; the outer if falls through
rows: 42
"""

import paddle


def step(weight, delta):
    if delta.abs().sum() > 1:
        if delta.sum() < 0:
            return weight
        delta = delta / delta.abs().sum()
    return weight - 0.1 * delta


def build():
    return step


def inputs():
    weight = paddle.to_tensor([1.0, 2.0])
    yield weight, paddle.to_tensor([2.0, 3.0])
    yield weight, paddle.to_tensor([-2.0, -3.0])
    yield weight, paddle.to_tensor([-0.2, 0.3])
