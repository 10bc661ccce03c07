"""A codebook entry overwritten by set_value when the sample is far away.

exercises: buffer.set_value in a tensor branch
rows: 86
"""

import paddle
from paddle import nn


class Prototype(nn.Layer):
    def __init__(self):
        super().__init__()
        self.register_buffer("centre", paddle.zeros([2]))
        self.linear = nn.Linear(2, 2)

    def forward(self, x):
        if (x - self.centre).abs().sum() > 1:
            self.centre.set_value((x * 0.5).detach())
        return self.linear(x - self.centre)


def build():
    return Prototype()


def inputs():
    for value in (0.1, 4.0, 2.0):
        yield (paddle.to_tensor([value, 0.1]),)
