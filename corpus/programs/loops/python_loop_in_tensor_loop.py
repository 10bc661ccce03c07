"""Two layers applied again and again until the output is stable.

exercises: for over a LayerList inside a tensor while; gradients of the parameters
rows: 17, 31
"""

import paddle
from paddle import nn


class DeepEquilibrium(nn.Layer):
    def __init__(self):
        super().__init__()
        self.blocks = nn.LayerList([nn.Linear(2, 2) for _ in range(2)])

    def forward(self, x, tolerance):
        z = x
        gap = paddle.full([], 9.0)
        trips = paddle.zeros([], "int64")
        while gap > tolerance and trips < 5:
            new = z
            for block in self.blocks:
                new = paddle.tanh(block(new) * 0.5 + x)
            gap = (new - z).abs().max()
            z = new
            trips = trips + 1
        return z, trips


def build():
    return DeepEquilibrium()


def inputs():
    for tolerance in (10.0, 0.2, 0.0):
        yield paddle.to_tensor([[0.5, -1.0]]), paddle.to_tensor(tolerance)
