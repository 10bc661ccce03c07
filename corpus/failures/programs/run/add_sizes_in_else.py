"""The same on the other side, while the first one has the same operation and is right."""

import paddle
from paddle.static import InputSpec


def difference(scores, labels):
    if scores.sum() > 100:
        loss = scores - scores
    else:
        loss = scores - labels  # <- fails
    return loss


def main(to_static):
    open_size = InputSpec([None], "float32")
    static = to_static(difference, input_spec=[open_size, open_size])
    static(paddle.ones([3]), paddle.ones([3]))
    static(paddle.ones([3]), paddle.ones([4]))
