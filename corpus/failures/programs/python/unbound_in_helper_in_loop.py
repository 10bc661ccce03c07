"""The variable that is missing belongs to a helper that a loop calls."""

import paddle


def adjust(x):
    if x > 2:
        factor = 0.5
    return x * factor  # <- fails


def settle(x):
    while x > 1:
        x = adjust(x)
    return x


def main(to_static):
    to_static(settle)(paddle.to_tensor(16.0))
