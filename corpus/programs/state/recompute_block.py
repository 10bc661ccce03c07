"""A block whose activations are recomputed in the backward pass.

exercises: recompute of a layer with dropout-free block beside a tensor branch
rows: 100
"""

import paddle
from paddle import nn
from paddle.distributed.fleet.utils import recompute


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.block = nn.Sequential(nn.Linear(2, 4), nn.Tanh(), nn.Linear(4, 2))
        self.out = nn.Linear(2, 1)

    def forward(self, x):
        x = recompute(self.block, x)
        if x.sum() > 0:
            x = x * 2
        return self.out(x)


def build():
    return Net()


def inputs():
    for sign in (1.0, -1.0):
        yield (paddle.to_tensor([[1.0, 2.0]]) * sign,)
