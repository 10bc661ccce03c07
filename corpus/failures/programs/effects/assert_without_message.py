"""An assertion without a message fails."""

import paddle


def checked(x):
    y = x * 2
    assert y.max() < 10  # <- fails
    return y


def main(to_static):
    static = to_static(checked)
    static(paddle.to_tensor([1.0]))
    static(paddle.to_tensor([7.0]))
