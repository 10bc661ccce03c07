"""Sum the norms of the weights, stopping at a bound.

exercises: for over parameters(), named_parameters() and sublayers() with tensor break
rows: 31, 39
"""

import paddle
from paddle import nn


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 2))

    def forward(self, x, bound):
        penalty = paddle.zeros([])
        for name, p in self.named_parameters():
            if name.endswith("bias"):
                continue
            penalty = penalty + (p * p).sum()
            if penalty > bound:
                break
        for block in self.body:
            x = block(x)
            if x.abs().max() > 100:
                break
        return x, penalty


def build():
    return Net()


def inputs():
    for bound in (0.0, 99.0):
        for scale in (1.0, 1000.0):
            yield paddle.to_tensor([[scale, -scale]]), paddle.to_tensor(bound)
