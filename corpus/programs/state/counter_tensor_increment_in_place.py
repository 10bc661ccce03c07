"""A step counter in a buffer that is incremented in place.

exercises: buffer changed by an in-place method
rows: 86, 88
"""

import paddle
from paddle import nn


class Schedule(nn.Layer):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)
        self.register_buffer("steps", paddle.zeros([]))

    def forward(self, x):
        self.steps.add_(paddle.ones([]))
        return self.linear(x) / self.steps


def build():
    return Schedule()


def inputs():
    for value in (1.0, 2.0, 3.0):
        yield (paddle.to_tensor([value, 0.1]),)
