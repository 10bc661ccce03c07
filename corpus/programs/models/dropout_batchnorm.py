"""A net with batch normalisation and dropout, trained and then evaluated.

exercises: switch from train to eval; running statistics; dropout; python condition on self.training
rows: 73, 99
"""

import paddle
from paddle import nn

MODES = ("train", "eval", "train")
STATE = ("norm._mean", "norm._variance")


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 6)
        self.norm = nn.BatchNorm1D(6)
        self.drop = nn.Dropout(0.5)
        self.outer = nn.Linear(6, 2)

    def forward(self, x):
        x = self.drop(nn.functional.relu(self.norm(self.inner(x))))
        if self.training:
            return self.outer(x)
        return nn.functional.softmax(self.outer(x))


def build():
    return Net()


def inputs():
    yield (paddle.randn([6, 4]),)
    yield (paddle.randn([6, 4]) * 3 + 1,)
