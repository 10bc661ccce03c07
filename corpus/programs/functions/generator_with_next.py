"""A stream of noise levels is read with next, as far as it is needed.

exercises: generator consumed by next; default of next; endless generator
rows: 57
"""

import itertools

import paddle


def levels(x):
    level = x
    for i in itertools.count(1):
        if level.max() > 1:
            level = level / 2
        yield level * i


def two():
    yield 1
    yield 2


def take(x):
    stream = levels(x)
    first = next(stream)
    second = next(stream)
    short = two()
    last = [next(short, 9) for _ in range(3)]
    return first, second, last


def build():
    return take


def inputs():
    x = paddle.to_tensor([1.0, 3.0])
    yield (x,)
    yield (x * 0.1,)
