"""Two masks are floats, where bools are needed."""

import paddle


def both(x, left, right):
    mask = left & right  # <- fails
    return x * mask.astype("float32")


def main(to_static):
    to_static(both)(paddle.ones([2]), paddle.ones([2]), paddle.zeros([2]))
