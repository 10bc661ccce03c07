"""A layer whose forward takes any number of inputs.

exercises: *inputs in the forward of the converted layer
rows: 92
"""

import paddle
from paddle import nn


class Fuse(nn.Layer):
    def __init__(self):
        super().__init__()
        self.weight = self.create_parameter([2])

    def forward(self, *inputs):
        out = inputs[0] * self.weight
        for part in inputs[1:]:
            if part.mean() > 0:
                out = out + part
        return out


def build():
    return Fuse()


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    yield (x,)
    yield x, x * 2
    yield x, -x
    yield x, -x, x
