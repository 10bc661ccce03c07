"""A layer whose forward takes an optional mask, options by keyword and any others.

exercises: forward with default None, *args and **kwargs; called with and without them
rows: 91, 92
"""

import paddle
from paddle import nn


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)

    def forward(self, x, mask=None, *extra, scale=1.0, **options):
        y = self.linear(x) * scale
        if mask is not None:
            y = y * mask
        if y.sum() > 0:
            y = y + sum(extra)
        return y, sorted(options)


class Model(nn.Layer):
    def __init__(self):
        super().__init__()
        self.net = Net()

    def forward(self, x, options):
        first, _ = self.net(x, **options)
        second, names = self.net(x, options.get("mask"), first, first, scale=2.0, last=True)
        return first, second, names


def build():
    return Model()


def inputs():
    x = paddle.to_tensor([[1.0, -0.5]])
    yield x, {}
    yield -x, {"mask": x}
    yield x, {"mask": x, "scale": paddle.to_tensor(0.5), "note": "a"}
