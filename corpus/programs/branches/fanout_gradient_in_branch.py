"""A value leaves a branch and is also used inside of it; the gradient goes both ways.

exercises: value yielded by a branch and used in it; gradient of both uses
rows: 1
"""

import paddle


def spread(x):
    if x.sum() > 0:
        a = x * 2
        b = a + x
    else:
        a = x - 1
        b = a * x
    return a * b


def build():
    return spread


def inputs():
    yield (paddle.to_tensor([1.0, 3.0]),)
    yield (paddle.to_tensor([-1.0, -3.0]),)
