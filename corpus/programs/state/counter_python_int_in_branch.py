"""A Python int attribute that counts how often a tensor condition held.

exercises: Python int attribute augmented in a tensor branch and in a tensor loop
rows: 84, 86
"""

import paddle
from paddle import nn

STATE = ("hits", "trips")


class Counting(nn.Layer):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)
        self.hits = 0
        self.trips = 0

    def forward(self, x):
        if x.sum() > 0:
            self.hits += 1
        while x.abs().sum() > 2:
            x = x / 2
            self.trips += 1
        return self.linear(x) + self.hits


def build():
    return Counting()


def inputs():
    for value in (1.0, -1.0, 9.0, -5.0):
        yield (paddle.to_tensor([value, 0.1]),)
