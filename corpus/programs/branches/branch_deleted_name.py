"""A name deleted in one branch cannot be read afterwards on that path.

exercises: del of a name in a branch; UnboundLocalError afterwards
rows: 64
"""

import paddle

RAISES = {1: UnboundLocalError}


def release(x, drop):
    cache = x * 2
    if drop > 0:
        del cache
    return cache + x


def build():
    return release


def inputs():
    x = paddle.to_tensor([2.0, 1.0])
    yield x, paddle.to_tensor(0)
    yield x, paddle.to_tensor(1)
    yield x + 1, paddle.to_tensor(0)
