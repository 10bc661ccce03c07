"""A value is scattered to a place that is not there, in a loop."""

import paddle


def fill(x, value):
    place = paddle.zeros([1], "int64")
    while place.sum() < 5:
        x = paddle.scatter(x, place, value)  # <- fails
        place = place + 1
    return x


def main(to_static):
    to_static(fill)(paddle.ones([3]), paddle.zeros([1]))
