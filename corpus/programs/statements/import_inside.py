"""Modules imported where they are needed.

exercises: import, from-import and import-as inside a function and in a tensor branch
rows: 54
"""

import paddle


def lazily(x):
    import math

    from paddle.nn import functional as F

    y = x * math.pi
    if x.sum() > 0:
        from paddle import exp as power

        y = power(-y)
    else:
        import paddle.nn.functional

        y = paddle.nn.functional.sigmoid(y)
    return F.relu(y - 0.1)


def build():
    return lazily


def inputs():
    yield (paddle.to_tensor([0.1, 0.2]),)
    yield (paddle.to_tensor([-0.1, 0.02]),)
