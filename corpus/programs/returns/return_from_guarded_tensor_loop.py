"""Halves a vector until it is small; a finally counts the trips, also the last one.

exercises: return in try inside a tensor while; finally changes a loop variable that an outer
    finally reads
rows: 43, 46
"""

import paddle
from paddle import nn


class Halve(nn.Layer):
    def __init__(self):
        super().__init__()
        self.trips = paddle.zeros([], "int64")

    def forward(self, x, bound):
        trips = paddle.zeros([], "int64")
        try:
            while trips < 5:
                try:
                    if x.abs().max() < bound:
                        return x * 10
                    x = x / 2
                finally:
                    trips = trips + 1
        finally:
            self.trips = trips
        return x


STATE = ("trips",)


def build():
    return Halve()


def inputs():
    x = paddle.to_tensor([1.0, -3.0])
    for bound in (1.0, 5.0, 0.01):
        yield x, paddle.to_tensor(bound)
