"""A gradient of the wrong shape is handed to backward."""

import paddle


def doubled(x):
    return x * 2


def main(to_static):
    x = paddle.ones([2])
    x.stop_gradient = False
    y = to_static(doubled)(x)
    y.backward(paddle.ones([3]))  # <- fails
