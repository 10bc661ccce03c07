"""A decorator that does not copy the name or anything else of what it decorates.

exercises: decorator without functools.wraps
rows: 52
"""

import paddle


def doubled(fn):
    def inner(x):
        y = fn(x)
        return y * 2 if y.sum() > 1 else y

    return inner


@doubled
def centre(x):
    if x.std() > 1:
        return x / x.std()
    return x


def run(x):
    return centre(x) + 1


def build():
    return run


def inputs():
    x = paddle.to_tensor([1.0, 4.0])
    yield (x,)
    yield (-x,)
    yield (x * 0.1,)
