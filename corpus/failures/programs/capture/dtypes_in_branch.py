"""Tensors of different dtype are joined, on one side of a branch."""

import paddle


def select(x, index):
    if x.max() > 0.5:
        return paddle.concat([x, index])  # <- fails
    return x


def main(to_static):
    to_static(select)(paddle.ones([2, 2]), paddle.ones([2, 2], "int64"))
