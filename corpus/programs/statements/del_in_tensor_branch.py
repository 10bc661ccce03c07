"""A temporary that a branch drops; later use depends on the branch.

exercises: del in one tensor branch; the name bound again; read after raises UnboundLocalError
rows: 64
"""

import paddle

RAISES = {2: UnboundLocalError}


def dropped(x, again):
    extra = x * 2
    y = x + extra
    if x.sum() > 0:
        del extra
        if again > 0:
            extra = x * 3
    return y + extra


def build():
    return dropped


def inputs():
    no, yes = paddle.to_tensor(0), paddle.to_tensor(1)
    yield paddle.to_tensor([-1.0, -2.0]), no
    yield paddle.to_tensor([1.0, 2.0]), yes
    yield paddle.to_tensor([1.0, 2.0]), no
