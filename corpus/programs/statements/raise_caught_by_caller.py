"""A helper that refuses and a caller that has an answer.

exercises: raise in a tensor branch of a helper, caught by the caller; by a base class
rows: 60
"""

import paddle


class NotPositive(ArithmeticError):
    pass


def root(x):
    if x.min() < 0:
        raise NotPositive("root of a negative number")
    return paddle.sqrt(x + 1)


def root_or_zero(x):
    try:
        y = root(x)
        ok = True
    except ArithmeticError:
        y = x * 0
        ok = False
    return y, ok


def build():
    return root_or_zero


def inputs():
    yield (paddle.to_tensor([1.0, 2.0]),)
    yield (paddle.to_tensor([-1.0, 2.0]),)
