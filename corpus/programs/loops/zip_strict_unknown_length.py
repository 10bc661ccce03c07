"""Pairs of equal number among any number, checked by zip itself.

exercises: zip(strict=True) of tensors of unknown length; unequal lengths raise at the run
rows: 29
"""

import paddle
from paddle.static import InputSpec

RAISES = {2: ValueError, 3: ValueError}
INPUT_SPEC = lambda: [InputSpec([None], "float32"), InputSpec([None], "float32")]


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
    yield paddle.to_tensor([1.0]), paddle.to_tensor([0.5, 1.0])
