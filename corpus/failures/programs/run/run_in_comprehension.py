"""One item of a comprehension does not fit, which only the run knows."""

import paddle
from paddle.static import InputSpec


def mixture(x, weights):
    parts = [
        x * weight  # <- fails
        for weight in weights
    ]
    return paddle.add_n(parts)


def main(to_static):
    open_size = InputSpec([None], "float32")
    static = to_static(mixture, input_spec=[open_size, [open_size, open_size]])
    static(paddle.ones([3]), [paddle.ones([3]), paddle.ones([3])])
    static(paddle.ones([3]), [paddle.ones([3]), paddle.ones([4])])
