"""The head of a model is replaced between calls.

exercises: sublayer replaced by another after the capture
rows: 97, 98
"""

import paddle
from paddle import nn

net = None
heads = []


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.base = nn.Linear(2, 2)
        self.head = nn.Linear(2, 3)

    def forward(self, x):
        h = self.base(x)
        if h.sum() > 0:
            h = h * 2
        return self.head(h)


def BEFORE(index):
    net.head = heads[index]


def build():
    global net
    net = Net()
    heads[:] = [net.head, nn.Linear(2, 3), nn.Sequential(nn.Linear(2, 3), nn.Tanh())]
    return net


def inputs():
    for value in (1.0, 1.0, -1.0):
        yield (paddle.to_tensor([value, 0.5]),)
