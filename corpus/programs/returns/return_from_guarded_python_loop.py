"""Tries step sizes; each try is counted in a finally, also the one that returns.

exercises: return on a tensor condition in try inside a python loop; finally adds to a counter
rows: 43, 46
"""

import paddle
from paddle import nn


class Search(nn.Layer):
    def __init__(self):
        super().__init__()
        self.tries = paddle.zeros([], "int64")

    def forward(self, x):
        best = (x * x).sum()
        for size in (4.0, 0.5, 0.25):
            try:
                candidate = x - size * x.sign()
                loss = (candidate * candidate).sum()
                if loss < best:
                    return candidate, loss
            finally:
                self.tries = self.tries + 1
        return x, best


STATE = ("tries",)


def build():
    return Search()


def inputs():
    for values in ([5.0, 6.0], [1.0, 1.0], [0.2, 0.1]):
        yield (paddle.to_tensor(values),)
