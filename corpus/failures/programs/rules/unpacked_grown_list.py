"""A list of unknown length is unpacked into a star."""

import paddle

CODE = "D2S207"


def best(x):
    found = []
    while x.sum() > 1:
        found.append(x)
        x = x * 0.5
    first, *rest = found  # <- fails
    return first + len(rest)


def main(to_static):
    to_static(best)(paddle.ones([4]))
