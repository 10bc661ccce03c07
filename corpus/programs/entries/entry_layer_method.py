"""The converted function is a method of a layer other than forward.

exercises: bound method of a layer as the entry; it calls the layer's forward
rows: 93
"""

import paddle
from paddle import nn


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)

    def forward(self, x):
        return self.linear(x)

    def loss(self, x, target):
        error = self(x) - target
        if error.abs().mean() > 1:
            return error.abs().sum()
        return (error * error).sum()


def build():
    return Net().loss


def inputs():
    x = paddle.to_tensor([[1.0, -0.5]])
    yield x, x
    yield x, x * 20
