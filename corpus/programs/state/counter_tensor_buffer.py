"""A layer that counts its calls in a buffer and decays its output by it.

exercises: self.steps += 1 and self.steps.add_(1) on tensor buffers
rows: 86
"""

import paddle
from paddle import nn

MODES = ("train", "eval")


class Decay(nn.Layer):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)
        self.register_buffer("steps", paddle.zeros([], "int64"))

    def forward(self, x):
        if self.training:
            self.steps += 1
        if self.steps > 2:
            x = x / self.steps.astype("float32")
        return self.linear(x)


def build():
    return Decay()


def inputs():
    for value in (1.0, 2.0, 3.0):
        yield (paddle.to_tensor([value, 0.1]),)
