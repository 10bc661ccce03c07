"""The sign of a sum as a plain int, nothing else.

exercises: Python ints and a bool on different paths
rows: 45
"""

import paddle

# No tensor is returned.
GRAD = False


def sign(x):
    total = x.sum()
    if total > 0:
        return 1
    if total < 0:
        return -1
    return False


def build():
    return sign


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    yield (x,)
    yield (-x,)
    yield (x * 0,)
