"""The text of a KeyError is the repr of its argument."""

import paddle


def find(scores):
    best = scores.argmax()
    if scores.max() <= 0:
        raise KeyError("no class")  # <- fails
    return best


def main(to_static):
    static = to_static(find)
    static(paddle.to_tensor([0.1, 0.7]))
    static(paddle.to_tensor([-0.1, -0.7]))
