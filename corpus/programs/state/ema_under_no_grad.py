"""A moving average of the weights, updated under no_grad in each forward.

exercises: buffer updated from a parameter under no_grad; detach
rows: 86, 63
"""

import paddle
from paddle import nn

MODES = ("train", "eval")


class Averaged(nn.Layer):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)
        self.register_buffer("shadow", self.linear.weight.detach().clone())

    def forward(self, x):
        if self.training:
            with paddle.no_grad():
                self.shadow = 0.9 * self.shadow + 0.1 * self.linear.weight
            return self.linear(x)
        return x @ self.shadow


def build():
    return Averaged()


def inputs():
    for value in (1.0, 2.0):
        yield (paddle.to_tensor([value, 0.5]),)
