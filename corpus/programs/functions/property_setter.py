"""A meter whose setter clips what is stored.

exercises: property setter with a tensor if; set in a tensor branch; getter reads it back
rows: 84
"""

import paddle
from paddle import nn


class Meter(nn.Layer):
    def __init__(self):
        super().__init__()
        self._level = paddle.to_tensor(1.0)

    @property
    def level(self):
        return self._level * 2

    @level.setter
    def level(self, value):
        if value > 3:
            value = value * 0 + 3
        self._level = value

    def forward(self, x):
        self.level = x.detach().max()
        if x.min() < 0:
            self.level = self.level * 0.1
        return x * self.level


STATE = ("_level",)


def build():
    return Meter()


def inputs():
    for values in ([1.0, 2.0], [1.0, 9.0], [-1.0, 2.0], [-1.0, 9.0]):
        yield (paddle.to_tensor(values),)
