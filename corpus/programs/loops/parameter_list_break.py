"""A chain of scales that stops when the product is large enough.

exercises: break out of a ParameterList decided by a tensor
rows: 31, 39
"""

import paddle
from paddle import nn


class Scales(nn.Layer):
    def __init__(self):
        super().__init__()
        one = nn.initializer.Constant(1.5)
        self.scales = nn.ParameterList(
            [self.create_parameter([2], default_initializer=one) for _ in range(3)]
        )

    def forward(self, x, bound):
        for scale in self.scales:
            x = x * scale
            if x.sum() > bound:
                break
        return x


def build():
    return Scales()


def inputs():
    for bound in (0.0, 6.0, 99.0):
        yield paddle.to_tensor([1.0, 2.0]), paddle.to_tensor(bound)
