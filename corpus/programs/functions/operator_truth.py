"""The truth of a tensor is asked through the operator module.

exercises: operator.not_ and operator.truth of a tensor condition
rows: 54
"""

import operator

import paddle


def run(x, y):
    if operator.not_(x.max() > 1):
        x = operator.add(x, 1)
    return x * y if operator.truth(y.sum() > 0) else x


def build():
    return run


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    yield x, x
    yield x * 0.1, x
    yield x, -x
