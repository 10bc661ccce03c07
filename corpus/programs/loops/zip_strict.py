"""Pairs of equal number, checked by zip itself.

exercises: zip(strict=True) of tensors; unequal lengths raise
rows: 29
"""

import paddle

RAISES = {2: ValueError}


def pairs(a, b):
    total = paddle.zeros([])
    for x, y in zip(a, b, strict=True):
        if x > y:
            total = total + x - y
    return total


def build():
    return pairs


def inputs():
    yield paddle.to_tensor([1.0, 2.0]), paddle.to_tensor([0.5, 3.0])
    yield paddle.to_tensor([3.0]), paddle.to_tensor([1.0])
    yield paddle.to_tensor([1.0, 2.0]), paddle.to_tensor([0.5])
