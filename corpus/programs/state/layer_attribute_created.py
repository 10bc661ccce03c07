"""A layer that remembers its last normal and its last strange input.

exercises: attribute of a layer set and newly created in a tensor branch
rows: 84
"""

import paddle
from paddle import nn

STATE = ("normal", "strange")


class Watch(nn.Layer):
    def __init__(self):
        super().__init__()
        self.scale = nn.Linear(2, 2)
        self.normal = paddle.zeros([2])
        self.strange = None

    def forward(self, x):
        if x.abs().max() > 5:
            self.strange = x.detach()
        else:
            self.normal = x.detach()
        return self.scale(x)


def build():
    return Watch()


def inputs():
    yield (paddle.to_tensor([1.0, 2.0]),)
    yield (paddle.to_tensor([9.0, 2.0]),)
    yield (paddle.to_tensor([3.0, 2.0]),)
