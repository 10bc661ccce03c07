"""A piecewise function with five pieces.

exercises: elif chain of five arms
rows: 1
"""

import paddle


def piecewise(x):
    if x < -2:
        y = -x
    elif x < -1:
        y = x * x
    elif x < 0:
        y = x + 10
    elif x < 1:
        y = x.exp()
    else:
        y = x * 3
    return y


def build():
    return piecewise


def inputs():
    for x in (-3.0, -1.5, -0.5, 0.5, 2.0, -2.0):
        yield (paddle.to_tensor(x),)
