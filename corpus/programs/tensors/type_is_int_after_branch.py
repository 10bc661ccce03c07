"""The exact type of numbers that a tensor chose.

exercises: type(k) is int, type(k) is float and type name after a tensor if
rows: 68
"""

import paddle


def chosen(x):
    if x.sum() > 0:
        k, factor = 2, 1.5
    else:
        k, factor = 3, 0.5
    y = x * k if type(k) is int else x
    return y * factor, type(factor) is float, type(k).__name__


def build():
    return chosen


def inputs():
    yield (paddle.to_tensor([1.0, 2.0]),)
    yield (paddle.to_tensor([-1.0, -2.0]),)
