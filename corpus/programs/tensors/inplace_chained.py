"""An activation computed in place, method after method.

exercises: in-place methods chained; the result of one bound to a name
rows: 88
"""

import paddle


def squash(x):
    y = x * 1
    z = y.scale_(0.5).clip_(-1.0, 1.0)
    w = z.exp()
    return y, z, w


def build():
    return squash


def inputs():
    yield (paddle.to_tensor([1.0, 4.0]),)
    yield (paddle.to_tensor([-1.0, -0.5]),)
