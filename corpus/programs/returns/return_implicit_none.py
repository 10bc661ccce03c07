"""A lookup that simply ends when it finds nothing.

exercises: function that ends without a return on one path; caller tests for None
rows: 45
"""

import paddle


def strongest(x, bound):
    peak = x.max()
    if peak > bound:
        if peak < 100:
            return peak * 2


def lookup(x, bound):
    found = strongest(x, bound)
    if found is None:
        found = x.mean()
    return found + 1


def build():
    return lookup


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    yield x, paddle.to_tensor(1.5)
    yield x, paddle.to_tensor(3.0)
    yield x * 100, paddle.to_tensor(3.0)
