"""Statistics for each class of input, kept under computed names.

exercises: setattr and getattr with a computed name in a tensor branch and in a Python loop
rows: 84
"""

import paddle
from paddle import nn

STATE = ("sum_0", "sum_1")


class PerClass(nn.Layer):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)
        for i in range(2):
            setattr(self, f"sum_{i}", paddle.zeros([]))

    def forward(self, x, kind):
        for i in range(2):
            if kind == i:
                setattr(self, f"sum_{i}", getattr(self, f"sum_{i}") + x.sum().detach())
        return self.linear(x) + self.sum_0 - self.sum_1


def build():
    return PerClass()


def inputs():
    for kind in (0, 1, 2, 0):
        yield paddle.to_tensor([1.0, 2.0]), paddle.to_tensor(kind)
