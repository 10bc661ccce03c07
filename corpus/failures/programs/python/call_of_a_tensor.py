"""A tensor is called, where an index was meant."""

import paddle


def first(x):
    y = x * 2
    return y(0)  # <- fails


def main(to_static):
    to_static(first)(paddle.ones([3]))
