"""One side of a conditional expression does not broadcast."""

import paddle


def gated(x, gate):
    y = x * 2
    return (
        y + gate  # <- fails
        if y.mean() > 0
        else y
    )


def main(to_static):
    to_static(gated)(paddle.ones([2, 3]), paddle.ones([4]))
