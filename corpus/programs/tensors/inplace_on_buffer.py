"""A layer with a running mean that it updates in place.

exercises: in-place methods and set_value on a buffer, in a branch
rows: 88
"""

import paddle
from paddle import nn

MODES = ("train", "eval")


class Centre(nn.Layer):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", paddle.zeros([2]))
        self.register_buffer("steps", paddle.zeros([], dtype="int64"))
        self.scale = self.create_parameter([2])

    def forward(self, x):
        if self.training:
            with paddle.no_grad():
                self.steps.add_(paddle.ones([], dtype="int64"))
                self.mean.scale_(0.9).add_(x.mean(axis=0) * 0.1)
                if self.mean.abs().max() > 1:
                    self.mean.set_value(paddle.zeros([2]))
        return (x - self.mean) * self.scale


def build():
    return Centre()


def inputs():
    yield (paddle.to_tensor([[1.0, 2.0], [3.0, 1.0]]),)
    yield (paddle.to_tensor([[10.0, 20.0], [3.0, 1.0]]),)
    yield (paddle.to_tensor([[-1.0, 2.0], [3.0, 1.0]]),)
