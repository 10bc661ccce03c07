"""A format that is meant for numbers meets a list."""

import paddle


def report(x):
    y = x * 2
    print(f"shape {y.shape:>8.2f}")  # <- fails
    return y


def main(to_static):
    to_static(report)(paddle.ones([2, 3]))
