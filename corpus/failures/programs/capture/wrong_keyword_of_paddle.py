"""A function of Paddle does not know the keyword."""

import paddle


def average(x):
    y = x * 2
    return paddle.mean(y, dims=0)  # <- fails


def main(to_static):
    to_static(average)(paddle.ones([2, 3]))
