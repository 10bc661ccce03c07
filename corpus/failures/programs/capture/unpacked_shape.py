"""A shape of two dimensions is unpacked into three names."""

import paddle


def flatten(x):
    x = x + 1
    batch, length, width = x.shape  # <- fails
    return x.reshape([batch * length, width])


def main(to_static):
    to_static(flatten)(paddle.ones([2, 3]))
