"""A layer keeps a running scale as an attribute that a branch replaces.

exercises: self attribute assigned in a branch; read again in the next call
rows: 84
"""

import paddle
from paddle import nn

STATE = ("scale", "resets")


class Scaler(nn.Layer):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)
        self.scale = paddle.ones([])
        self.resets = 0

    def forward(self, x):
        y = self.linear(x)
        if x.abs().max() > 3:
            self.scale = self.scale * 0.5
        else:
            self.scale = self.scale + 0.1
        return y * self.scale


def build():
    return Scaler()


def inputs():
    for x in ([1.0, 2.0], [1.0, 5.0], [0.5, 0.5], [4.0, 4.0]):
        yield (paddle.to_tensor([x]),)
