"""A subclass adds a condition around its parent's forward.

exercises: super() over one level; tensor if in both
rows: 94
"""

import paddle
from paddle import nn


class Plain(nn.Layer):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)

    def forward(self, x):
        y = self.linear(x)
        return y if y.sum() > 0 else -y


class Limited(Plain):
    def forward(self, x):
        y = super().forward(x)
        if y.max() > 1:
            y = y / y.max()
        return y


def build():
    return Limited()


def inputs():
    x = paddle.to_tensor([[1.0, -0.5]])
    for scale in (0.1, -0.1, 5.0, -5.0):
        yield (x * scale,)
