"""A counter starts as an integer and becomes a float in the loop."""

import paddle

CODE = "D2S202"


def average(x):
    total = paddle.zeros([], "int64")
    while x.sum() > 1:  # <- fails
        total = total.astype("float32") + x.sum()
        x = x * 0.5
    return total


def main(to_static):
    to_static(average)(paddle.ones([4]))
