"""A layer that keeps a running average and counts outliers in its own attributes.

exercises: buffer assigned in a branch; attribute assigned in a branch; augmented assignment of
    an attribute
rows: 84, 86
"""

import paddle
from paddle import nn

STATE = ("seen", "outliers", "last")
MODES = ("train", "eval")


class RunningAverage(nn.Layer):
    def __init__(self):
        super().__init__()
        self.register_buffer("average", paddle.zeros([2]))
        self.scale = nn.Linear(2, 2)
        self.seen = paddle.zeros([], "int64")
        self.outliers = paddle.zeros([], "int64")
        self.last = paddle.zeros([2])

    def forward(self, x):
        mean = x.mean(axis=0)
        if (mean - self.average).abs().max() > 5:
            self.outliers += 1
        elif self.training:
            self.average = (0.9 * self.average + 0.1 * mean).detach()
        self.seen += 1
        self.last = mean.detach()
        return self.scale(x - self.average)


def build():
    return RunningAverage()


def inputs():
    yield (paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]]),)
    yield (paddle.to_tensor([[9.0, 9.0], [9.0, 9.0]]),)
    yield (paddle.to_tensor([[0.5, 0.5], [1.0, 1.0]]),)
