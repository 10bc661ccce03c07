"""A helper multiplies matrices whose inner sizes only the run knows."""

import paddle
from paddle.static import InputSpec


def project(x, weight):
    return paddle.matmul(x, weight)  # <- fails


def model(x, weight):
    hidden = project(x, weight)
    return hidden.sum()


def main(to_static):
    matrix = InputSpec([None, None], "float32")
    static = to_static(model, input_spec=[matrix, matrix])
    static(paddle.ones([2, 3]), paddle.ones([3, 4]))
    static(paddle.ones([2, 3]), paddle.ones([5, 4]))
