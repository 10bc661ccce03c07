"""Blocks in a LayerList and heads in a LayerDict, each of which may skip itself.

exercises: nn.LayerList iterated and enumerated; nn.LayerDict by key; layers with a tensor if
rows: 54
"""

import paddle
from paddle import nn


class Block(nn.Layer):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)

    def forward(self, x, bound=1.0):
        y = self.linear(x)
        if y.abs().sum() > bound:
            return x + y
        return x


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.blocks = nn.LayerList([Block() for _ in range(3)])
        self.heads = nn.LayerDict({"a": nn.Linear(2, 1), "b": Block()})

    def forward(self, x, head):
        for i, block in enumerate(self.blocks):
            x = block(x, bound=0.5 * (i + 1))
        return self.heads[head](x) + self.blocks[-1](x).mean()


def build():
    return Net()


def inputs():
    x = paddle.to_tensor([[1.0, -0.5]])
    for scale in (0.1, 1.0, 3.0):
        yield x * scale, "a"
        yield x * scale, "b"
