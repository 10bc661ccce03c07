"""A batch as a list of pairs of tensors and a list of numbers.

exercises: nested lists and tuples of tensors as arguments; gradients into them
rows: 91
"""

import paddle


def loss(batch, weights):
    total = paddle.zeros([])
    for (x, target), weight in zip(batch, weights):  # noqa: B905
        error = (x - target).abs().sum()
        if error > 2:
            error = error * weight
        total = total + error
    return total


def build():
    return loss


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    yield [(x, x * 0.5), (x, -x)], [1.0, 0.5]
    yield [(x, x * 3), (x, x * 0.9)], [1.0, 0.5]
    yield [(x, x * 3)], [2]
