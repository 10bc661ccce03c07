"""A function calls itself until a tensor is small."""

import paddle

CODE = "D2S206"


def halve(x):
    if x.sum() > 1:
        return halve(x * 0.5)  # <- fails
    return x


def main(to_static):
    to_static(halve)(paddle.ones([8]))
