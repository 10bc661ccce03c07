"""An assertion fails in the third trip of a loop."""

import paddle


def grow(x, limit):
    while x < limit:
        x = x * 2
        assert x < 8, x  # <- fails
    return x


def main(to_static):
    static = to_static(grow)
    static(paddle.to_tensor(1.0), paddle.to_tensor(4.0))
    static(paddle.to_tensor(1.0), paddle.to_tensor(100.0))
