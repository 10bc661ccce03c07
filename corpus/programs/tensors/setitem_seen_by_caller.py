"""An argument that the function fills in.

exercises: item assignment to an argument, in a branch too; the caller sees it
rows: 87
"""

import paddle

GRAD = False  # leaves that need a gradient may not be changed in place


def fill(out, x):
    out[0] = x.sum()
    if x.max() > 2:
        out[1:] = x[1:]
    return x * out


def build():
    return fill


def inputs():
    yield paddle.zeros([3]), paddle.to_tensor([1.0, 2.0, 3.0])
    yield paddle.zeros([3]), paddle.to_tensor([1.0, 2.0, 1.5])
