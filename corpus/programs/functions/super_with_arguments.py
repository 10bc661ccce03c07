"""The old form of super with its class and object written out, in a diamond.

exercises: super(Class, self); multiple inheritance; explicit Base.forward(self, x)
rows: 94
"""

import paddle
from paddle import nn


class Base(nn.Layer):
    def __init__(self):
        super(Base, self).__init__()  # noqa: UP008
        self.weight = self.create_parameter([2])

    def forward(self, x):
        return x * self.weight


class Left(Base):
    def forward(self, x):
        y = super(Left, self).forward(x)  # noqa: UP008
        return y + 1 if y.sum() > 0 else y


class Right(Base):
    def forward(self, x):
        if x.max() > 2:
            x = x - 1
        return super(Right, self).forward(x)  # noqa: UP008


class Both(Left, Right):
    def forward(self, x):
        return super(Both, self).forward(x) + Base.forward(self, x)  # noqa: UP008


def build():
    return Both()


def inputs():
    for values in ([1.0, 2.0], [-1.0, 0.5], [3.0, 1.0], [0.5, -3.0]):
        yield (paddle.to_tensor(values),)
