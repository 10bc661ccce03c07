"""A name is misspelt, on the side of a branch that does not run."""

import paddle


def smooth(x):
    total = x.sum()
    y = x / total
    return y * totl  # <- fails


def main(to_static):
    to_static(smooth)(paddle.ones([2]))
