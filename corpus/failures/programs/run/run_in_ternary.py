"""One side of a conditional expression does not fit at run time."""

import paddle
from paddle.static import InputSpec


def gated(x, gate):
    return (
        x * gate  # <- fails
        if gate.sum() > 0
        else x
    )


def main(to_static):
    open_size = InputSpec([None], "float32")
    static = to_static(gated, input_spec=[open_size, open_size])
    static(paddle.ones([3]), paddle.ones([3]))
    static(paddle.ones([3]), paddle.ones([4]))
