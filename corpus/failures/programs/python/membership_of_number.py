"""`in` asks an int."""

import paddle


def selected(x, chosen):
    if 3 in chosen:  # <- fails
        return x * 2
    return x


def main(to_static):
    to_static(selected)(paddle.ones([2]), 5)
