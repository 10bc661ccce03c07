"""Two batches of different size are added; the sizes are open in the program."""

import paddle
from paddle.static import InputSpec


def difference(scores, labels):
    scaled = scores * 2
    return scaled - labels  # <- fails


def main(to_static):
    open_size = InputSpec([None], "float32")
    static = to_static(difference, input_spec=[open_size, open_size])
    static(paddle.ones([3]), paddle.ones([3]))
    static(paddle.ones([3]), paddle.ones([4]))
