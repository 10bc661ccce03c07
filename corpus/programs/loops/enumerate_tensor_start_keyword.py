"""A discounted sum whose first exponent is two, over any number of values.

exercises: enumerate(t, start=2) over a tensor of unknown length
rows: 28
"""

import paddle
from paddle.static import InputSpec

INPUT_SPEC = lambda: [InputSpec([None], "float32"), InputSpec([], "float32")]


def discounted(values, rate):
    total = paddle.zeros([])
    for power, v in enumerate(values, start=2):
        total = total + v * rate**power
    return total


def build():
    return discounted


def inputs():
    yield paddle.to_tensor([1.0, 2.0, 6.0]), paddle.to_tensor(0.5)
    yield paddle.to_tensor([1.0]), paddle.to_tensor(0.9)
    yield paddle.to_tensor([1.0, -2.0, 6.0, 1.0]), paddle.to_tensor(1.1)
