"""A function is called with the items of a list of unknown length."""

import paddle

CODE = "D2S207"


def total(first, *rest):
    return first + len(rest)


def best(x):
    found = []
    while x.sum() > 1:
        found.append(x)
        x = x * 0.5
    return total(*found)  # <- fails


def main(to_static):
    to_static(best)(paddle.ones([4]))
