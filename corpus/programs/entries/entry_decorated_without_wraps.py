"""The converted function is the inner function of a decorator without wraps.

exercises: decorator's closure as the entry
rows: 93
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


def build():
    return centre


def inputs():
    x = paddle.to_tensor([1.0, 4.0])
    yield (x,)
    yield (-x,)
    yield (x * 0.1,)
