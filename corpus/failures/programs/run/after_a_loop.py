"""The operation behind a loop fails, not the loop."""

import paddle
from paddle.static import InputSpec


def shrink(x, other):
    while x.sum() > 1:
        x = x * 0.5
    return x + other  # <- fails


def main(to_static):
    open_size = InputSpec([None], "float32")
    static = to_static(shrink, input_spec=[open_size, open_size])
    static(paddle.ones([3]), paddle.ones([3]))
    static(paddle.ones([3]), paddle.ones([4]))
