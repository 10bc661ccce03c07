"""A layer scales by its step before and after it advances the step.

exercises: attribute that holds a tensor read, assigned and read again by equal expressions
rows: 85
"""

import paddle
from paddle import nn


class Steps(nn.Layer):
    def __init__(self):
        super().__init__()
        self.step = paddle.ones([])

    def forward(self, x):
        before = x * self.step
        self.step = self.step + 1
        after = x * self.step
        return before if before.sum() > 20 else after


STATE = ("step",)


def build():
    return Steps()


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    yield (x,)
    yield (x * 5,)
    yield (x,)
