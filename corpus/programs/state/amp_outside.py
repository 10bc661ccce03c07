"""Mixed precision around the call of a converted function.

exercises: auto_cast entered by the caller for some calls: guard on the AMP state
rows: 102
"""

import contextlib

import paddle
from paddle import nn

stack = contextlib.ExitStack()


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(3, 3)

    def forward(self, x):
        y = self.first(x)
        if y.sum() > 0:
            y = y * 2
        return y


def BEFORE(index):
    stack.close()
    if index % 2:
        stack.enter_context(paddle.amp.auto_cast(dtype="bfloat16", level="O1"))


def build():
    stack.close()
    return Net()


def inputs():
    for sign in (1.0, 1.0, -1.0, -1.0):
        yield (paddle.to_tensor([[1.0, 2.0, 3.0]]) * sign,)
