"""A value error that a tensor decides."""

import paddle


def step(loss):
    scaled = loss * 0.5
    if paddle.isnan(scaled):
        raise ValueError("the loss is NaN")  # <- fails
    return scaled


def main(to_static):
    static = to_static(step)
    static(paddle.to_tensor(1.0))
    static(paddle.to_tensor(float("nan")))
