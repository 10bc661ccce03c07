"""A key that is there only on one side; the other side raises KeyError.

exercises: new key on one side of a tensor branch, read by subscript
rows: 80
"""

import paddle

RAISES = {1: KeyError}


def lookup(x):
    found = {}
    if x.sum() > 0:
        found["root"] = paddle.sqrt(x.sum())
    return found["root"] * x


def build():
    return lookup


def inputs():
    yield (paddle.to_tensor([1.0, 3.0]),)
    yield (paddle.to_tensor([-1.0, -3.0]),)
