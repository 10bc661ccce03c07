"""A recurrent cell that ponders: an inner loop per time step decides how long it thinks.

exercises: tensor while with break inside a for over the time steps; gradients of a Linear
rows: 27, 38
"""

import paddle
from paddle import nn


class Ponder(nn.Layer):
    def __init__(self):
        super().__init__()
        self.cell = nn.Linear(4, 2)
        self.halt = nn.Linear(2, 1)

    def forward(self, steps, bound):
        h = paddle.zeros([1, 2])
        thoughts = paddle.zeros([], "int64")
        for x in steps:
            spent = paddle.zeros([])
            while spent < bound:
                h = paddle.tanh(self.cell(paddle.concat([x, h], axis=-1)))
                spent = spent + paddle.nn.functional.sigmoid(self.halt(h)).sum()
                thoughts = thoughts + 1
                if thoughts >= 7:
                    break
        return h, thoughts


def build():
    return Ponder()


def inputs():
    for bound in (0.0, 0.1, 1.2, 9.0):
        yield paddle.randn([3, 1, 2]), paddle.to_tensor(bound)
