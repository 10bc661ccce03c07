"""A converted function is called without an argument."""

import paddle


def blend(x, y):
    return x + y


def main(to_static):
    static = to_static(blend)
    static(paddle.ones([2]), paddle.ones([2]))
    static(paddle.ones([2]))  # <- fails
