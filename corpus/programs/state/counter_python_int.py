"""A layer that counts its calls in a Python int and warms up by it.

exercises: self.steps += 1 on a Python int that the output depends on
rows: 97
"""

import paddle
from paddle import nn

STATE = ("steps",)


class Warmup(nn.Layer):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)
        self.steps = 0

    def forward(self, x):
        self.steps += 1
        return self.linear(x) * min(1.0, self.steps / 4)


def build():
    return Warmup()


def inputs():
    for value in (1.0, 2.0, 3.0):
        yield (paddle.to_tensor([value, 0.1]),)
