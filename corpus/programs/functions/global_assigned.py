"""The last loss is kept in a module's global for a logger to read.

exercises: global assigned a tensor outside of any branch
rows: 53
"""

import paddle

LAST = None


def loss(x, target):
    global LAST
    error = (x - target).abs()
    if error.max() > 1:
        error = error * 2
    LAST = error.detach().sum()
    return error.mean()


OBSERVED = lambda: LAST  # noqa: E731


def build():
    return loss


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    yield x, x * 1.1
    yield x, x * 3
