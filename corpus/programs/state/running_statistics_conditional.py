"""Mean and variance of the inputs, from batches that are not outliers.

exercises: Welford's update of three buffers in a nested tensor branch; train and eval
rows: 86, 99
"""

import paddle
from paddle import nn

MODES = ("train", "eval")


class Standardise(nn.Layer):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", paddle.zeros([]))
        self.register_buffer("mean", paddle.zeros([2]))
        self.register_buffer("spread", paddle.ones([2]))
        self.gain = self.create_parameter(
            [2], default_initializer=paddle.nn.initializer.Constant(1.0)
        )

    def update(self, row):
        self.count = self.count + 1
        delta = row - self.mean
        self.mean = self.mean + delta / self.count
        self.spread = self.spread + delta * (row - self.mean)

    def forward(self, x):
        if self.training:
            for row in x.detach():
                if self.count < 2:
                    self.update(row)
                elif (row - self.mean).abs().max() < 5:
                    self.update(row)
        return self.gain * (x - self.mean) / self.spread.sqrt()


def build():
    return Standardise()


def inputs():
    for scale in (1.0, 9.0, 2.0):
        yield (paddle.to_tensor([[1.0, 2.0], [0.5, -1.0], [2.0, 0.0]]) * scale,)
