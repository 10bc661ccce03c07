"""The condition of an if has three values."""

import paddle

CODE = "D2S204"


def clip(x):
    if x > 0:  # <- fails
        return x
    return x * 0.1


def main(to_static):
    to_static(clip)(paddle.ones([3]))
