"""The type of a Python int that a branch changed is int.

exercises: type(k) is int after a tensor if
rows: 68
"""

import paddle


def repeat_checked(x, much):
    k = 1
    if much > 0:
        k = 3
    if type(k) is int:
        return x * k
    return x - 100


def build():
    return repeat_checked


def inputs():
    x = paddle.to_tensor([1.0, 3.0])
    for much in (1, 0, 2):
        yield x, paddle.to_tensor(much)
