"""A layer is converted whole: branch, loop, buffer and parameters.

exercises: nn.Layer as the entry; buffer assigned in a tensor branch; train and eval
rows: 86
"""

import paddle
from paddle import nn

MODES = ("train", "eval")


class Net(nn.Layer):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)
        self.register_buffer("peak", paddle.zeros([]))

    def forward(self, x):
        y = self.linear(x)
        if self.training:
            if y.abs().max() > self.peak:
                self.peak = y.detach().abs().max()
        elif y.sum() > 0:
            y = y / 2
        return y


def build():
    return Net()


def inputs():
    x = paddle.to_tensor([[1.0, -0.5]])
    for scale in (0.1, 1.0, -0.5, -2.0):
        yield (x * scale,)
