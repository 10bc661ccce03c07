"""Comparisons and arithmetic come from the operator module.

exercises: operator.gt, mul, itemgetter, attrgetter, methodcaller; reduce with operator.add
rows: 54
"""

import functools
import operator

import paddle


def run(x, y):
    first, second = operator.itemgetter("a", "b")({"a": x, "b": y})
    if operator.gt(first.sum(), second.sum()):
        out = operator.mul(first, second)
    else:
        out = operator.truediv(first, operator.neg(second))
    rank = operator.attrgetter("ndim")(x)
    return functools.reduce(operator.add, [out, x, y]) * rank, operator.methodcaller("mean")(out)


def build():
    return run


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    yield x, x * 0.5
    yield x, x * 2
    yield -x, -x * 3
