"""The number of elements does not divide, which only the run knows."""

import paddle
from paddle.static import InputSpec


def pairs(x):
    doubled = x * 2
    return doubled.reshape([-1, 2])  # <- fails


def main(to_static):
    static = to_static(pairs, input_spec=[InputSpec([None], "float32")])
    static(paddle.ones([4]))
    static(paddle.ones([5]))
