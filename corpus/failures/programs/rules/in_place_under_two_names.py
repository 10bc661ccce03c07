"""A tensor with two names is changed in place, in a loop."""

import paddle

CODE = "D2S304"


def accumulate(x, count):
    total = x * 0
    first = total
    for _ in range(count):
        total.add_(x)  # <- fails
    return total, first


def main(to_static):
    to_static(accumulate)(paddle.ones([2]), paddle.to_tensor(2))
