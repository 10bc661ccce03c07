"""An average that is updated value by value.

exercises: enumerate(t, 1)
rows: 28
"""

import paddle


def average(values):
    mean = paddle.zeros([])
    for n, v in enumerate(values, 1):
        mean = mean + (v - mean) / n
    return mean


def build():
    return average


def inputs():
    yield (paddle.to_tensor([1.0, 2.0, 6.0]),)
    yield (paddle.to_tensor([-4.0, 2.0, 0.5]),)
