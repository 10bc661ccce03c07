"""A small network answers alone when it is confident enough, otherwise a large one runs.

exercises: early return; layers called on one path only; bool of a reduction
rows: 1, 41
"""

import paddle
from paddle import nn
from paddle.nn import functional as F


class Cascade(nn.Layer):
    def __init__(self, threshold=0.6):
        super().__init__()
        self.small = nn.Linear(4, 3)
        self.large = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
        self.threshold = threshold

    def forward(self, x):
        probability = F.softmax(self.small(x))
        if probability.max(axis=-1).min() > self.threshold:
            return probability
        hidden = self.large(x)
        return F.softmax(hidden + probability)


def build():
    return Cascade()


def inputs():
    x = paddle.to_tensor([[1.0, -1.0, 0.5, 2.0], [1.0, -0.5, 0.5, 1.5]])
    yield (x * 0.01,)
    yield (x * 50.0,)
    yield (x * 0.02,)
