"""A Python int that a branch changed is still an int to isinstance.

exercises: isinstance(k, int) and isinstance(k, Tensor) after a tensor if
rows: 68
"""

import paddle


def repeat(x, much):
    k = 1
    if much > 0:
        k = 3
    if isinstance(k, int):
        x = x * k
    else:
        x = x - 100
    return x, isinstance(k, paddle.Tensor), isinstance(k, (float, str))


def build():
    return repeat


def inputs():
    x = paddle.to_tensor([1.0, 3.0])
    for much in (1, 0, 2):
        yield x, paddle.to_tensor(much)
