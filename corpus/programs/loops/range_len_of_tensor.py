"""A running sum by index, for any number of entries.

exercises: range(len(t)) and range(t.shape[0]) with an unknown leading dimension
rows: 26, 27
"""

import paddle
from paddle.static import InputSpec

INPUT_SPEC = lambda: [InputSpec([None], "float32")]


def running(x):
    total = paddle.zeros([])
    for i in range(len(x)):
        total = total * 0.5 + x[i]
    for i in range(1, x.shape[0]):
        total = total + x[i] * x[i - 1]
    return total


def build():
    return running


def inputs():
    yield (paddle.to_tensor([1.0, 2.0, 3.0]),)
    yield (paddle.to_tensor([4.0]),)
    yield (paddle.to_tensor([1.0, -1.0, 2.0, 5.0]),)
