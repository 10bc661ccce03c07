"""A reversed view of a signal sees what is written later.

exercises: slice with a negative step and with a step taken before a write to the base
rows: 88
"""

import paddle

GRAD = False  # a write to the base of a view is not recorded for gradients of the view


def reread(x):
    y = x * 1
    turned = y[::-1]
    every_other = y[::2]
    y[0] = 10.0
    return turned + 1, every_other


def build():
    return reread


def inputs():
    yield (paddle.to_tensor([1.0, 2.0, 3.0]),)
    yield (paddle.to_tensor([1.0, 2.0, -30.0]),)
