"""A layer that only keeps the larger values it is shown and returns nothing.

exercises: bare return in a tensor if at the entry; the end without a return
rows: 41
"""

import paddle
from paddle import nn

# The entry returns nothing that a gradient could start from.
GRAD = False


class Peak(nn.Layer):
    def __init__(self):
        super().__init__()
        self.peak = paddle.to_tensor(1.0)
        self.raised = paddle.zeros([], "int64")

    def forward(self, x):
        top = x.max()
        if top <= self.peak:
            return
        self.peak = top
        self.raised = self.raised + 1


STATE = ("peak", "raised")


def build():
    return Peak()


def inputs():
    x = paddle.to_tensor([1.0, 0.5])
    for scale in (0.5, 2.0, 1.5, 3.0):
        yield (x * scale,)
