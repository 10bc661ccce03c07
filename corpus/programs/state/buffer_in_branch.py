"""A running maximum in a buffer, assigned only when it grows.

exercises: buffer assigned on one side of a tensor branch; buffer read afterwards
rows: 86
"""

import paddle
from paddle import nn

MODES = ("train", "eval")


class RunningMax(nn.Layer):
    def __init__(self):
        super().__init__()
        self.register_buffer("largest", paddle.to_tensor(0.5))
        self.scale = nn.Linear(2, 2)

    def forward(self, x):
        peak = x.abs().max()
        if peak > self.largest and self.training:
            self.largest = peak.detach()
        return self.scale(x / self.largest)


def build():
    return RunningMax()


def inputs():
    for value in (0.25, 2.0, 1.0, 4.0):
        yield (paddle.to_tensor([value, 0.1]),)
