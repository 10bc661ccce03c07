"""A running product over pairs of any number.

exercises: zip of two tensors whose leading dimension is unknown, of equal and unequal lengths
rows: 27, 29
"""

import paddle
from paddle.static import InputSpec

INPUT_SPEC = lambda: [InputSpec([None], "float32"), InputSpec([None], "float32")]


def dot(a, b):
    total = paddle.zeros([])
    for x, y in zip(a, b):
        total = total * 0.9 + x * y
    return total


def build():
    return dot


def inputs():
    yield paddle.to_tensor([1.0, 2.0, 3.0]), paddle.to_tensor([0.5, 1.0, 2.0])
    yield paddle.to_tensor([1.0, 2.0]), paddle.to_tensor([0.5, 1.0, 2.0])
    yield paddle.to_tensor([1.0, 2.0, 3.0]), paddle.to_tensor([0.5])
