"""The inner one of two loops that tensors end meets sizes that do not fit."""

import paddle
from paddle.static import InputSpec


def relax(grid, kernel):
    outer = paddle.zeros([], "int64")
    while outer < 2:
        inner = paddle.zeros([], "int64")
        while inner < 2:
            grid = grid * kernel  # <- fails
            inner = inner + 1
        outer = outer + 1
    return grid


def main(to_static):
    open_size = InputSpec([None], "float32")
    static = to_static(relax, input_spec=[open_size, open_size])
    static(paddle.ones([3]), paddle.ones([3]))
    static(paddle.ones([3]), paddle.ones([2]))
