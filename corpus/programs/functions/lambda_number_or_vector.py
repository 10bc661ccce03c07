"""A lambda caps a vector with a plain number, which then is added to a vector.

exercises: ternary in a lambda that gives a Python float or a vector; used in arithmetic
rows: 50
"""

import paddle


def capped(x):
    cap = lambda t, top: top if t.max() > top else t  # noqa: E731
    return x + cap(x, 3.0)


def build():
    return capped


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    yield (x,)
    yield (x * 2,)
