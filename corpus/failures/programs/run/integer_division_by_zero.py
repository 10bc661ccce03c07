"""Integers are divided by a tensor that is zero."""

import paddle


def share(total, parts):
    total = total + 1
    return total // parts  # <- fails


def main(to_static):
    static = to_static(share)
    static(paddle.to_tensor([6]), paddle.to_tensor([2]))
    static(paddle.to_tensor([6]), paddle.to_tensor([0]))
