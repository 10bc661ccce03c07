"""Two batches with different widths are joined."""

import paddle
from paddle.static import InputSpec


def join(left, right):
    if left.mean() > 0:
        left = left * 2
    return paddle.concat([left, right], axis=0)  # <- fails


def main(to_static):
    matrix = InputSpec([None, None], "float32")
    static = to_static(join, input_spec=[matrix, matrix])
    static(paddle.ones([2, 3]), paddle.ones([1, 3]))
    static(paddle.ones([2, 3]), paddle.ones([1, 4]))
