"""A layer whose helper methods update its memory in a branch and in a loop.

exercises: method of a layer that assigns attributes, called in a tensor branch and in a loop
rows: 85
"""

import paddle
from paddle import nn

STATE = ("memory", "writes")


class Memory(nn.Layer):
    def __init__(self):
        super().__init__()
        self.key = nn.Linear(2, 2)
        self.memory = paddle.zeros([2])
        self.writes = paddle.zeros([], "int64")

    def write(self, x):
        self.memory = (0.5 * self.memory + x).detach()
        self.writes = self.writes + 1

    def forward(self, x, steps):
        out = self.key(x)
        if x.sum() > 0:
            self.write(x)
        for _ in range(steps):
            out = out * 0.5 + self.memory
            self.write(out)
        return out


def build():
    return Memory()


def inputs():
    for sign, steps in ((1.0, 2), (-1.0, 2), (1.0, 0), (-1.0, 0)):
        yield paddle.to_tensor([1.0, 2.0]) * sign, paddle.to_tensor(steps)
