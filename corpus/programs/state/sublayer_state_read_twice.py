"""A sublayer is used before and after a branch's side sets its scale.

exercises: attribute of a sublayer that forward reads, assigned in a tensor branch between two calls
rows: 84
"""

import paddle
from paddle import nn

STATE = ("inner.scale",)


class Scale(nn.Layer):
    def __init__(self):
        super().__init__()
        self.scale = paddle.ones([])

    def forward(self, x):
        return x * self.scale


class Model(nn.Layer):
    def __init__(self):
        super().__init__()
        self.inner = Scale()

    def forward(self, x):
        y = self.inner(x)
        if y.sum() > 0:
            self.inner.scale = x.max().detach()
            y = self.inner(x)
        return y


def build():
    return Model()


def inputs():
    for values in ([1.0, 2.0], [-1.0, -2.0], [1.0, 3.0]):
        yield (paddle.to_tensor(values),)
