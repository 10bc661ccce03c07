"""A base tensor is written and a view made before sees it.

exercises: item assignment to the base after a slice was taken; slice read afterwards
rows: 88
"""

import paddle

GRAD = False  # a write to the base of a view is not recorded for gradients of the view


def reread(x):
    y = x * 1
    head = y[:2]
    y[0] = 10.0
    if x.sum() > 0:
        return head + 1
    return head - 1


def build():
    return reread


def inputs():
    yield (paddle.to_tensor([1.0, 2.0, 3.0]),)
    yield (paddle.to_tensor([1.0, 2.0, -30.0]),)
