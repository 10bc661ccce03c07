"""The body of a loop that a tensor ends multiplies matrices that do not fit."""

import paddle


def power(x, limit):
    steps = paddle.zeros([], "int64")
    while steps < limit:
        x = paddle.matmul(x, paddle.ones([5, 3]))  # <- fails
        steps = steps + 1
    return x


def main(to_static):
    to_static(power)(paddle.ones([3, 3]), paddle.to_tensor(2))
