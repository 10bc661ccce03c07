"""A gradient hook is registered inside of a loop that a tensor ends."""

import paddle

CODE = "D2S205"


def hooked(x):
    while x.sum() > 1:
        x = x * 0.5
        x.register_hook(lambda gradient: gradient * 2)  # <- fails
    return x


def main(to_static):
    x = paddle.ones([4])
    x.stop_gradient = False
    to_static(hooked)(x)
