"""Hooks that look at and change what goes in and out of a layer.

exercises: forward pre hook and forward post hook on a sublayer, with a tensor branch in a hook
rows: 100
"""

import paddle
from paddle import nn


def halve_input(layer, inputs):
    (x,) = inputs
    if x.abs().max() > 1:
        x = x / 2
    return (x,)


def shift_output(layer, inputs, output):
    return output + inputs[0].sum()


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(2, 2)
        self.inner.register_forward_pre_hook(halve_input)
        self.inner.register_forward_post_hook(shift_output)

    def forward(self, x):
        return self.inner(x) * 2


def build():
    return Net()


def inputs():
    for value in (0.5, 4.0):
        yield (paddle.to_tensor([value, 0.25]),)
