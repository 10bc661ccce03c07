"""A stack of cells, each with a trace of its own.

exercises: LayerList whose layers assign their buffers in a tensor branch
rows: 86
"""

import paddle
from paddle import nn


class Cell(nn.Layer):
    def __init__(self, decay):
        super().__init__()
        self.decay = decay
        self.linear = nn.Linear(2, 2)
        self.register_buffer("trace", paddle.zeros([2]))

    def forward(self, x):
        y = self.linear(x) + self.trace
        if y.sum() > 0:
            self.trace = (self.decay * self.trace + y).detach()
        return y


class Stack(nn.Layer):
    def __init__(self):
        super().__init__()
        self.cells = nn.LayerList([Cell(0.5), Cell(0.9), Cell(0.1)])

    def forward(self, x):
        for cell in self.cells:
            x = x + cell(x)
        return x


def build():
    return Stack()


def inputs():
    for sign in (1.0, -1.0, 0.5):
        yield (paddle.to_tensor([1.0, 2.0]) * sign,)
