"""A variable is set on one side only, and read behind the branch."""

import paddle


def choose(x):
    if x.sum() > 0:
        result = x * 2
    return result + 1  # <- fails


def main(to_static):
    static = to_static(choose)
    static(paddle.to_tensor([1.0]))
    static(paddle.to_tensor([-1.0]))
