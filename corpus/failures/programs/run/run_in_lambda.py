"""A lambda in a list of steps meets a size that does not fit."""

import paddle
from paddle.static import InputSpec


def pipeline(x, y):
    steps = [
        lambda value: value * 2,
        lambda value: value + y,  # <- fails
    ]
    for step in steps:
        x = step(x)
    return x


def main(to_static):
    open_size = InputSpec([None], "float32")
    static = to_static(pipeline, input_spec=[open_size, open_size])
    static(paddle.ones([3]), paddle.ones([3]))
    static(paddle.ones([3]), paddle.ones([4]))
