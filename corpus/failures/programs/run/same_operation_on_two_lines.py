"""Two lines of a branch do the same operation; the second one fails."""

import paddle
from paddle.static import InputSpec


def mixed(x, y):
    if x.sum() > 0:
        first = x + 1.0 * x
        second = first + y  # <- fails
    else:
        second = x + x
    return second


def main(to_static):
    open_size = InputSpec([None], "float32")
    static = to_static(mixed, input_spec=[open_size, open_size])
    static(paddle.ones([3]), paddle.ones([3]))
    static(paddle.ones([3]), paddle.ones([4]))
