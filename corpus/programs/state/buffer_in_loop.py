"""An iteration whose state is a buffer of the layer.

exercises: buffer assigned in a tensor loop; zero trips keep it
rows: 86
"""

import paddle
from paddle import nn


class Iterate(nn.Layer):
    def __init__(self):
        super().__init__()
        self.register_buffer("state", paddle.ones([2]))
        self.linear = nn.Linear(2, 2)

    def forward(self, x, steps):
        for _ in range(steps):
            self.state = (0.5 * self.state + x).detach()
        return self.linear(self.state * x)


def build():
    return Iterate()


def inputs():
    for steps in (2, 0, 1):
        yield paddle.to_tensor([1.0, -1.0]), paddle.to_tensor(steps)
