"""The mean of the positive entries, or a default when there are none.

exercises: nonzero, masked_select; shape of a data-dependent result in if and in arithmetic
rows: 90
"""

import paddle


def positive_mean(x):
    found = paddle.nonzero(x > 0)
    if found.shape[0] == 0:
        return x.sum() * 0.5
    chosen = paddle.masked_select(x, x > 0)
    return chosen.sum() / chosen.shape[0]


def build():
    return positive_mean


def inputs():
    yield (paddle.to_tensor([1.0, -2.0, 3.0]),)
    yield (paddle.to_tensor([-1.0, -2.0, -3.0]),)
    yield (paddle.to_tensor([1.0, 2.0, 3.0]),)
