"""Weights and names from Python tables, looked up by the trip.

exercises: Python lists of numbers indexed by the variable of range(t); isinstance of it
rows: 26, 77
"""

import paddle


def weigh(x, n):
    weights = [0.5, 2.0, 3.0, 4.0]
    for i in range(n):
        assert isinstance(i, int)
        x = x * weights[i] + i
    return x


def build():
    return weigh


def inputs():
    for n in (0, 1, 4):
        yield paddle.to_tensor([1.0, 2.0]), paddle.to_tensor(n)
