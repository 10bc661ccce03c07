"""One of two batch normalisations is used, depending on the batch.

exercises: BatchNorm in a tensor branch: only the statistics of the side that ran move; train, eval
rows: 99
"""

import paddle
from paddle import nn

MODES = ("train", "eval", "train")


class TwoDomains(nn.Layer):
    def __init__(self):
        super().__init__()
        self.day = nn.BatchNorm1D(3)
        self.night = nn.BatchNorm1D(3)
        self.out = nn.Linear(3, 1)

    def forward(self, x):
        if x.mean() > 0:
            x = self.day(x)
        else:
            x = self.night(x)
        return self.out(x)


def build():
    return TwoDomains()


def inputs():
    for shift in (2.0, -2.0, 1.0):
        yield (paddle.randn([5, 3]) + shift,)
