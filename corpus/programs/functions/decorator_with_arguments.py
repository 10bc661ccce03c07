"""A decorator that takes arguments, imported, and one that is a class.

exercises: decorator factory; class-based decorator with __call__
rows: 52
"""

import paddle

from corpus.programs.functions._helpers import scaled


class Logged:
    def __init__(self, fn):
        self.fn = fn
        self.calls = 0

    def __call__(self, x):
        self.calls += 1
        y = self.fn(x)
        if y.max() > 3:
            return y - 1
        return y


@scaled(2.0, bound=2.0)
def plain(x):
    return x * 1.5 if x.max() > 1 else x


@Logged
def logged(x):
    return x + 1 if x.sum() > 0 else x - 1


def run(x):
    return plain(x), logged(x)


def build():
    return run


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    yield (x,)
    yield (-x,)
    yield (x * 0.5,)
    yield (x * 2,)
