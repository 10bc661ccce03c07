"""A loop adds a dimension on every trip."""

import paddle

CODE = "D2S202"


def deepen(x):
    steps = paddle.zeros([], "int64")
    while steps < 2:  # <- fails
        x = x.unsqueeze(0)
        steps = steps + 1
    return x


def main(to_static):
    to_static(deepen)(paddle.ones([2]))
