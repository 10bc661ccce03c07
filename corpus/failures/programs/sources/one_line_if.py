"""A branch and its body stand on one line."""

import paddle


def clipped(x, bound):
    if x.sum() > 0: x = paddle.minimum(x, bound); x = x * 2  # <- fails
    return x


def main(to_static):
    to_static(clipped)(paddle.ones([3]), paddle.ones([2]))
