"""The same function with and without gradients, as the caller decides.

exercises: no_grad entered by the caller for some calls: guard on the grad mode
rows: 63
"""

import contextlib

import paddle
from paddle import nn

stack = contextlib.ExitStack()


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 2)

    def forward(self, x):
        y = self.first(x)
        if paddle.is_grad_enabled() and y.sum() > 0:
            y = y * 2
        return y, y.stop_gradient


def BEFORE(index):
    stack.close()
    if index % 2:
        stack.enter_context(paddle.no_grad())


def build():
    stack.close()
    return Net()


def inputs():
    for sign in (1.0, 1.0, -1.0, -1.0):
        yield (paddle.to_tensor([[1.0, 2.0]]) * sign,)
