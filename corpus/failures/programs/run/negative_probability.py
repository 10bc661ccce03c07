"""A probability that a sample is drawn with is negative."""

import paddle


def draw(weights):
    weights = weights - 0.5
    return paddle.multinomial(weights, 1)  # <- fails


def main(to_static):
    static = to_static(draw)
    static(paddle.to_tensor([1.0, 2.0]))
    static(paddle.to_tensor([0.1, 2.0]))
