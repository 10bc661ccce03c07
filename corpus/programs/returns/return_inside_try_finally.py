"""A layer that counts its calls in a finally, whichever way it leaves.

exercises: tensor return inside try; finally changes an attribute that holds a tensor
rows: 46, 58
"""

import paddle
from paddle import nn


class Counted(nn.Layer):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)
        self.calls = paddle.zeros([])
        self.early = paddle.zeros([])

    def forward(self, x):
        try:
            y = self.linear(x)
            if y.sum() > 0:
                self.early = self.early + 1
                return y * 2
            y = y - 1
        finally:
            self.calls = self.calls + 1
        return y * self.calls


STATE = ("calls", "early")


def build():
    return Counted()


def inputs():
    x = paddle.to_tensor([[1.0, 2.0]])
    yield (x,)
    yield (-x,)
    yield (x * 3,)
