"""A layer keeps its threshold and its helper under private names.

exercises: self.__x read and set; private method called; tensor if on a private attribute
rows: 95
"""

import paddle
from paddle import nn


class Gate(nn.Layer):
    def __init__(self):
        super().__init__()
        self.__level = 1.0
        self.__seen = paddle.zeros([])
        self.linear = nn.Linear(2, 2)

    def __squash(self, x):
        if x.abs().max() > self.__level:
            return x / x.abs().max()
        return x

    def forward(self, x):
        self.__seen = self.__seen + 1
        return self.__squash(self.linear(x)) * self.__seen


STATE = ("_Gate__seen",)


def build():
    return Gate()


def inputs():
    x = paddle.to_tensor([[1.0, -0.5]])
    yield (x,)
    yield (x * 10,)
