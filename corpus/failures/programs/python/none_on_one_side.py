"""A branch leaves None, which is used in a sum."""

import paddle


def total(x):
    bonus = None
    if x.mean() > 0:
        bonus = x * 0.1
    return x + bonus  # <- fails


def main(to_static):
    static = to_static(total)
    static(paddle.to_tensor([1.0]))
    static(paddle.to_tensor([-1.0]))
