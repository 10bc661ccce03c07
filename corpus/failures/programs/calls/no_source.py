"""The function was made by exec, and its text is nowhere."""

import paddle

CODE = "D2S101"


def made():
    names = {}
    exec("def double(x):\n    if x.sum() > 0:\n        x = x * 2\n    return x\n", names)
    return names["double"]


def main(to_static):
    to_static(made())(paddle.ones([2]))  # <- fails
