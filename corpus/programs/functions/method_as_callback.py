"""Bound methods are handed around and called by a helper.

exercises: bound method as callback; method kept in a list; tensor if inside
rows: 54
"""

import paddle
from paddle import nn


def apply_all(fns, x):
    for fn in fns:
        x = fn(x)
    return x


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)
        self.bound = 0.5

    def clip(self, x):
        if x.abs().max() > self.bound:
            return x * self.bound / x.abs().max()
        return x

    def shift(self, x):
        return x + 1 if x.mean() > 0 else x - 1

    def forward(self, x):
        clip = self.clip
        return apply_all([self.linear, clip, self.shift], x) + clip(x)


def build():
    return Net()


def inputs():
    x = paddle.to_tensor([[1.0, -0.5]])
    for scale in (1.0, -1.0, 0.1):
        yield (x * scale,)
