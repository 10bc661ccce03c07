"""Static methods are called on the class and on an instance.

exercises: staticmethod with a tensor if; through the class and through self
rows: 54
"""

import paddle
from paddle import nn


class Scaler(nn.Layer):
    @staticmethod
    def rescale(x, limit=1.0):
        if x.abs().max() > limit:
            return x / x.abs().max()
        return x

    def forward(self, x):
        return self.rescale(x) + Scaler.rescale(x * 2, limit=3.0)


def build():
    return Scaler()


def inputs():
    x = paddle.to_tensor([1.0, -2.0])
    for scale in (1.0, 0.6, 0.1):
        yield (x * scale,)
