"""A layer counts its calls before an early return and its full passes after it.

exercises: the same attribute incremented by the same expression before a return and after it
rows: 41, 85
"""

import paddle
from paddle import nn


class Counted(nn.Layer):
    def __init__(self):
        super().__init__()
        self.work = paddle.zeros([])

    def forward(self, x):
        self.work = self.work + 1
        if x.abs().max() < 1:
            return x
        self.work = self.work + 1
        return x / x.abs().max()


STATE = ("work",)


def build():
    return Counted()


def inputs():
    x = paddle.to_tensor([1.0, -2.0])
    for scale in (1.0, 0.1, 2.0, 0.2):
        yield (x * scale,)
