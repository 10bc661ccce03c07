"""A name is deleted in a branch and read behind it."""

import paddle


def release(x, free):
    buffer = x * 2
    if free:
        del buffer
    return x + buffer  # <- fails


def main(to_static):
    static = to_static(release)
    static(paddle.ones([2]), False)
    static(paddle.ones([2]), True)
