"""A tensor that has two names on some runs is changed in place."""

import paddle

CODE = "D2S304"


def accumulate(x, count):
    total = x * 0
    first = total
    if count > 1:
        total = total + x
    total.add_(x)  # <- fails
    return total, first


def main(to_static):
    to_static(accumulate)(paddle.ones([2]), paddle.to_tensor(2))
