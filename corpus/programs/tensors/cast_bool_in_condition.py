"""An update that is skipped when a gradient is not finite, with bool() and not on tensors.

exercises: bool() of a tensor in a condition, in a variable, with not; returned bool
rows: 65
"""

import paddle


def guarded_step(weight, gradient):
    finite = bool(paddle.isfinite(gradient).all())
    skipped = not finite
    if bool(gradient.sum() > 0) and finite:
        weight = weight - gradient
    elif not skipped:
        weight = weight + 2 * gradient
    return weight, finite, skipped


def build():
    return guarded_step


def inputs():
    weight = paddle.to_tensor([1.0, 2.0])
    yield weight, paddle.to_tensor([0.5, 0.25])
    yield weight, paddle.to_tensor([-0.5, 0.25])
    yield weight, paddle.to_tensor([float("inf"), 0.25])
    yield weight, paddle.to_tensor([0.0, 0.0])
