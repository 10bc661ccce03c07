"""One correction at most: the body of the loop always returns.

exercises: unconditional return in a tensor while
rows: 44
"""

import paddle


def correct_once(x, bound):
    while x.abs().max() > bound:
        x = x * bound / x.abs().max()
        return x, x.sum()
    return x * 2, x.sum()


def build():
    return correct_once


def inputs():
    x = paddle.to_tensor([1.0, -4.0])
    yield x, paddle.to_tensor(2.0)
    yield x, paddle.to_tensor(5.0)
