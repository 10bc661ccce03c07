"""A ready-made Sequential, none of whose code is the user's, is converted as it is.

exercises: nn.Sequential of Paddle's layers as the entry; batch statistics in train and eval
rows: 99
"""

import paddle
from paddle import nn

MODES = ("train", "eval")


def build():
    return nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.BatchNorm1D(4), nn.Linear(4, 1))


def inputs():
    x = paddle.to_tensor([[1.0, -0.5], [0.5, 2.0]])
    yield (x,)
    yield (x * 3,)
