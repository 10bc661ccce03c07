"""The same inside of a branch that a tensor decides."""

import paddle
from paddle.static import InputSpec


def difference(scores, labels):
    if scores.sum() > 0:
        loss = scores - labels  # <- fails
    else:
        loss = scores * 2
    return loss


def main(to_static):
    open_size = InputSpec([None], "float32")
    static = to_static(difference, input_spec=[open_size, open_size])
    static(paddle.ones([3]), paddle.ones([3]))
    static(paddle.ones([3]), paddle.ones([4]))
