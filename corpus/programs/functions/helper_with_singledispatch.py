"""A norm that is chosen by the type of its argument.

exercises: functools.singledispatch over tensor, list and float; tensor if in one of them
rows: 54
"""

import functools

import paddle


@functools.singledispatch
def norm(value):
    return abs(value)


@norm.register
def _(value: paddle.Tensor):
    total = (value * value).sum()
    if total > 4:
        return total / 4
    return total


@norm.register(list)
def _(value):
    return sum(norm(part) for part in value)


def run(x, y):
    return norm([x, y, -2.0]) + norm(x)


def build():
    return run


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    yield x, x * 0.1
    yield x * 0.1, x
