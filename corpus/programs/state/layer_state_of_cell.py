"""A recurrent cell that keeps its hidden state between calls and resets it on request.

exercises: tensor attribute of a layer carried from call to call; None at first; reset in a branch
rows: 84
"""

import paddle
from paddle import nn

STATE = ("hidden",)


class Cell(nn.Layer):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(2, 2)
        self.hidden = None

    def forward(self, x, reset):
        if self.hidden is None:
            self.hidden = paddle.zeros_like(x)
        if reset > 0:
            self.hidden = paddle.zeros_like(x)
        out = paddle.tanh(self.inner(x) + self.hidden)
        self.hidden = out.detach()
        return out


def build():
    return Cell()


def inputs():
    for reset in (0, 0, 1, 0):
        yield paddle.to_tensor([1.0, 2.0]), paddle.to_tensor(reset)
