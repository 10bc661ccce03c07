"""A condition over several lines that end with backslashes."""

import paddle


def accept(x, limits):
    if x.sum() > 0 and \
            x.max() < 5 and \
            x.min() > limits["low"]:  # <- fails
        return x
    return x * 0


def main(to_static):
    to_static(accept)(paddle.ones([2]), {})
