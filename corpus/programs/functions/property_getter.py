"""The effective weight of a layer is a property that normalises when it must.

exercises: property whose getter has a tensor if
rows: 54
"""

import paddle
from paddle import nn


class Normalised(nn.Layer):
    def __init__(self, level):
        super().__init__()
        self.raw = self.create_parameter([2], default_initializer=nn.initializer.Constant(level))
        self.limit = 1.0

    @property
    def weight(self):
        norm = paddle.sqrt((self.raw * self.raw).sum())
        if norm > self.limit:
            return self.raw / norm
        return self.raw

    def forward(self, x):
        y = x * self.weight
        if y.sum() > 1:
            y = y - self.weight
        return y


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.small, self.large = Normalised(0.1), Normalised(2.0)

    def forward(self, x):
        return self.small(x) + self.large(x)


def build():
    return Net()


def inputs():
    x = paddle.to_tensor([1.0, -2.0])
    for scale in (0.1, 3.0, -3.0):
        yield (x * scale,)
