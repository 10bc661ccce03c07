"""A function of Python is called with the items of a list of unknown length."""

import paddle

CODE = "D2S207"


def best(x):
    found = []
    while x.sum() > 1:
        found.append(x)
        x = x * 0.5
    return set().union(*found)  # <- fails


def main(to_static):
    to_static(best)(paddle.ones([4]))
