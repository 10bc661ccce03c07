"""Three rows are unpacked into two names."""

import paddle


def halves(x):
    x = x + 1
    left, right = x  # <- fails
    return left - right


def main(to_static):
    to_static(halves)(paddle.ones([3, 2]))
