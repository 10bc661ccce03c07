"""A key of a dict is made on one side of a branch only."""

import paddle


def collect(x):
    losses = {}
    if x.sum() > 0:
        losses["positive"] = x.mean()
    return losses["positive"] * 2  # <- fails


def main(to_static):
    static = to_static(collect)
    static(paddle.to_tensor([1.0]))
    static(paddle.to_tensor([-1.0]))
