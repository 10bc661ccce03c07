"""A helper is called without one of its arguments, in a branch."""

import paddle


def scale(x, factor):
    return x * factor


def maybe(x):
    if x.sum() > 0:
        x = scale(x)  # <- fails
    return x


def main(to_static):
    to_static(maybe)(paddle.ones([2]))
