"""A layer scales by its step and then advances the step.

exercises: attribute that holds a tensor read, then assigned; the gradient needs the old value
rows: 85
"""

import paddle
from paddle import nn


class Steps(nn.Layer):
    def __init__(self):
        super().__init__()
        self.step = paddle.ones([])

    def forward(self, x):
        out = x * self.step
        self.step = self.step * 2
        return out


STATE = ("step",)


def build():
    return Steps()


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    yield (x,)
    yield (x,)
