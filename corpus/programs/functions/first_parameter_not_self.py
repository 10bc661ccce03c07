"""A layer whose methods call their object "this" and "layer".

exercises: first parameter not called self; super() and attributes through it
rows: 96
"""

import paddle
from paddle import nn


class Base(nn.Layer):
    def __init__(this):
        super().__init__()
        this.linear = nn.Linear(2, 2)

    def forward(this, x):
        y = this.linear(x)
        if y.sum() > 0:
            return y
        return this.flip(y)

    def flip(layer, x):
        return -x if x.min() < 0 else x


class Child(Base):
    def forward(model, self):
        return super().forward(self) * 2


def build():
    return Child()


def inputs():
    x = paddle.to_tensor([[1.0, -0.5]])
    yield (x,)
    yield (-x,)
