"""Both of two assertions are wrong; the first one is told."""

import paddle


def between(x):
    assert x.min() >= 0, "below"  # <- fails
    assert x.max() <= 1, "above"
    return x


def main(to_static):
    static = to_static(between)
    static(paddle.to_tensor([0.5]))
    static(paddle.to_tensor([-1.0, 2.0]))
