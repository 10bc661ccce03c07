"""Runge-Kutta weights from a Python list, looked up in a tensor loop.

exercises: Python list indexed by the index of a tensor loop
rows: 77
"""

import paddle


def weighted(x, stages):
    weights = [0.1, 0.2, 0.3, 0.4]
    total = paddle.zeros_like(x)
    for k in range(stages):
        total = total + weights[k] * x
        x = x * 1.5
    return total


def build():
    return weighted


def inputs():
    for stages in (4, 0, 1, 2):
        yield paddle.to_tensor([1.0, 2.0]), paddle.to_tensor(stages)
