"""The helper is called on one side of a branch, and on another line outside of it."""

import paddle
from paddle.static import InputSpec


def project(x, weight):
    x = x * 2
    return paddle.matmul(x, weight)  # <- fails


def model(x, weight):
    first = project(x, x.t())
    if first.sum() > 0:
        return project(x, weight).sum()
    return first.sum()


def main(to_static):
    matrix = InputSpec([None, None], "float32")
    static = to_static(model, input_spec=[matrix, matrix])
    static(paddle.ones([2, 3]), paddle.ones([3, 4]))
    static(paddle.ones([2, 3]), paddle.ones([5, 4]))
