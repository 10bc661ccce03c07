"""A walrus behind `and` binds its name only where Python reaches it.

exercises: walrus behind a short circuit; UnboundLocalError afterwards
rows: 3, 21
"""

import paddle

RAISES = {1: UnboundLocalError}


def reach(x, gate):
    if gate > 0 and (top := x.max()) > 1:
        x = x * 2
    return x / top


def build():
    return reach


def inputs():
    x = paddle.to_tensor([2.0, 1.0])
    yield x, paddle.to_tensor(1)
    yield x, paddle.to_tensor(0)
    yield x * 0.25, paddle.to_tensor(1)
