"""A keyword is misspelt at the call."""

import paddle


def scaled(x, *, factor=2.0):
    return x * factor


def main(to_static):
    to_static(scaled)(paddle.ones([2]), faktor=3.0)  # <- fails
