"""Recomputed blocks that decide on tensors themselves.

exercises: recompute of a block whose forward has a tensor branch; in a loop over a LayerList
rows: 100
"""

import paddle
from paddle import nn
from paddle.distributed.fleet.utils import recompute


class Block(nn.Layer):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)

    def forward(self, x, scale):
        y = self.linear(x)
        if y.sum() > 0:
            return x + y * scale
        return x - y


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.blocks = nn.LayerList([Block(), Block()])

    def forward(self, x):
        for block in self.blocks:
            x = recompute(block, x, 0.5)
        return x


def build():
    return Net()


def inputs():
    for sign in (1.0, -1.0):
        yield (paddle.to_tensor([[1.0, 2.0]]) * sign,)
