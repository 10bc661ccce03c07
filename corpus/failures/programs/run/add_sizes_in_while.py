"""The same in a loop that a tensor ends."""

import paddle
from paddle.static import InputSpec


def descend(x, step):
    while x.sum() > 1:
        x = x * 0.5
        x = x - step  # <- fails
    return x


def main(to_static):
    open_size = InputSpec([None], "float32")
    static = to_static(descend, input_spec=[open_size, open_size])
    static(paddle.ones([3]), paddle.ones([3]))
    static(paddle.ones([3]), paddle.ones([4]))
