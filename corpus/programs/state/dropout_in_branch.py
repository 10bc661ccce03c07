"""Dropout only for confident samples.

exercises: dropout in a tensor branch; functional dropout by self.training; train and eval
rows: 99, 73
"""

import paddle
from paddle import nn

MODES = ("train", "eval")


class Regular(nn.Layer):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        x = self.linear(x)
        if x.mean() > 0:
            x = self.drop(x)
        else:
            x = nn.functional.dropout(x, 0.25, training=self.training)
        return x * 2


def build():
    return Regular()


def inputs():
    x = paddle.randn([3, 4])
    yield (x,)
    yield (-x,)
