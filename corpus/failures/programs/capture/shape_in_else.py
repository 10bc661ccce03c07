"""The other side of a branch adds a bias of the wrong size."""

import paddle


def shifted(x):
    if x.sum() > 100:
        y = x + 1
    else:
        bias = paddle.ones([7])
        y = x + bias  # <- fails
    return y


def main(to_static):
    to_static(shifted)(paddle.ones([2, 3]))
