"""A sum over an axis that the tensor does not have."""

import paddle


def pooled(x):
    x = paddle.tanh(x)
    return paddle.sum(x, axis=3)  # <- fails


def main(to_static):
    to_static(pooled)(paddle.ones([2, 3]))
