"""Hooks of the converted layer itself.

exercises: forward pre hook and post hook on the layer that is converted
rows: 100
"""

import paddle
from paddle import nn


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(2, 2)

    def forward(self, x):
        if x.sum() > 0:
            x = x * 2
        return self.inner(x)


def build():
    net = Net()
    net.register_forward_pre_hook(lambda layer, inputs: (inputs[0] - 1,))
    net.register_forward_post_hook(lambda layer, inputs, output: output * 3)
    return net


def inputs():
    for value in (0.5, 4.0):
        yield (paddle.to_tensor([value, 0.25]),)
