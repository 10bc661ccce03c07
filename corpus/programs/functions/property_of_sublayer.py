"""A model asks a part of it for a property, and has a property that asks for it too.

exercises: property of a sublayer whose getter has a tensor if; property that reads a property
rows: 54
"""

import paddle
from paddle import nn


class Normalised(nn.Layer):
    def __init__(self):
        super().__init__()
        self.raw = self.create_parameter([2])

    @property
    def weight(self):
        norm = paddle.sqrt((self.raw * self.raw).sum())
        if norm > 0.5:
            return self.raw / norm
        return self.raw


class Model(nn.Layer):
    def __init__(self):
        super().__init__()
        self.inner = Normalised()

    @property
    def weight(self):
        return self.inner.weight

    def forward(self, x, bound):
        y = self.inner.weight * x
        if y.sum() > bound:
            y = y - self.weight
        return y


def build():
    return Model()


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    for bound in (-9.0, 9.0):
        yield x, paddle.to_tensor(bound)
