"""A residual net in which a tensor gate decides for each block whether it runs.

exercises: continue under a tensor condition in a python loop; zip of a LayerList and a tensor
rows: 29, 37, 39
"""

import paddle
from paddle import nn


class StochasticDepth(nn.Layer):
    def __init__(self):
        super().__init__()
        self.blocks = nn.LayerList([nn.Linear(3, 3) for _ in range(3)])

    def forward(self, x, gates):
        ran = paddle.zeros([], "int64")
        for block, gate in zip(self.blocks, gates):
            if gate < 0.5:
                continue
            x = x + paddle.tanh(block(x)) / gate
            ran = ran + 1
        return x, ran


def build():
    return StochasticDepth()


def inputs():
    x = paddle.randn([2, 3])
    yield x, paddle.to_tensor([0.9, 0.1, 0.8])
    yield x, paddle.to_tensor([0.1, 0.7, 0.2])
    yield x, paddle.to_tensor([0.1, 0.2, 0.3])
    yield x, paddle.to_tensor([1.0, 0.6, 0.8])
