"""A loop makes no trip, and its variable is read behind it."""

import paddle


def last(x):
    while x.sum() > 1:
        x = x * 0.5
        last_step = x * 2
    return x + last_step  # <- fails


def main(to_static):
    static = to_static(last)
    static(paddle.to_tensor([4.0]))
    static(paddle.to_tensor([0.5]))
