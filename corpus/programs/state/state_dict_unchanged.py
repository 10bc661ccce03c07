"""The names in the state dict are the same after the conversion and after calls.

exercises: state_dict of a converted layer with buffers, plain tensor attributes and parameters
rows: 86
"""

import paddle
from paddle import nn

net = None


def OBSERVED():
    return {name: value.detach() for name, value in net.state_dict().items()}


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)
        self.register_buffer("seen", paddle.zeros([]))
        self.register_buffer("scratch", paddle.zeros([]), persistable=False)
        self.extra = paddle.ones([2])

    def forward(self, x):
        if x.sum() > 0:
            self.seen = self.seen + 1
        self.scratch = x.sum().detach()
        self.extra = x.detach()
        return self.linear(x)


def build():
    global net
    net = Net()
    return net


def inputs():
    for sign in (1.0, -1.0):
        yield (paddle.to_tensor([1.0, 2.0]) * sign,)
