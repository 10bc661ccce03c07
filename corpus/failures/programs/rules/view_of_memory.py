"""The memory of a tensor is read as another dtype."""

import paddle

CODE = "D2S205"


def bits(x):
    y = x * 2
    return y.view("int32")  # <- fails


def main(to_static):
    to_static(bits)(paddle.ones([2]))
