"""A layer that is frozen and thawed between calls.

exercises: stop_gradient of parameters changed between calls
rows: 98
"""

import paddle
from paddle import nn

net = None


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.base = nn.Linear(2, 2)
        self.head = nn.Linear(2, 1)

    def forward(self, x):
        h = self.base(x)
        if h.sum() > 0:
            h = h * 2
        return self.head(h)


def BEFORE(index):
    for p in net.base.parameters():
        p.stop_gradient = index == 1


def build():
    global net
    net = Net()
    return net


def inputs():
    for value in (1.0, 2.0, -1.0):
        yield (paddle.to_tensor([value, 0.5]),)
