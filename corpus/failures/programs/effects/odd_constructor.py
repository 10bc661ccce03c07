"""An exception whose constructor takes keywords only, and has no message."""

import paddle


class Rejected(Exception):
    def __init__(self, *, reason):
        self.reason = reason


def accept(x):
    if x.mean() < 0:
        raise Rejected(reason="negative")  # <- fails
    return x


def main(to_static):
    static = to_static(accept)
    static(paddle.to_tensor([1.0]))
    static(paddle.to_tensor([-1.0]))
