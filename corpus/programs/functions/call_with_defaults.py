"""Helpers are called by position, by keyword and with their defaults, a tensor default among them.

exercises: default arguments; keyword arguments; default that is a tensor
rows: 54
"""

import paddle


def blend(x, y, alpha=0.5, offset=paddle.to_tensor(1.0)):  # noqa: B008
    if x.sum() > y.sum():
        return x * alpha + y * (1 - alpha) + offset
    return x - y


def run(x, y):
    return blend(x, y), blend(y=x, x=y, alpha=0.25), blend(x, y, offset=x.mean())


def build():
    return run


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    yield x, x * 2
    yield x * 2, x
