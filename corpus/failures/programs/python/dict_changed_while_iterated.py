"""A dict grows while it is iterated."""

import paddle


def expand(x):
    parts = {"a": x}
    for name in parts:  # <- fails
        parts[name + "b"] = x * 2
    return parts


def main(to_static):
    to_static(expand)(paddle.ones([2]))
