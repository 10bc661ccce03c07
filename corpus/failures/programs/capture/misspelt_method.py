"""A method of a tensor is misspelt."""

import paddle


def norm(x):
    total = (x * x).summ()  # <- fails
    return total.sqrt()


def main(to_static):
    to_static(norm)(paddle.ones([3]))
