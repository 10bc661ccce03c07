"""Both sides pad the same way, so the mode stays a plain string.

exercises: same string constant in both branches; used as an argument of an operator
rows: 6
"""

import paddle
from paddle.nn import functional as F


def padded(x, side):
    if side > 0:
        mode = "reflect"
        pad = [1, 0, 1, 0]
    else:
        mode = "reflect"
        pad = [1, 0, 1, 0]
        x = x * 2
    return F.pad(x, pad, mode=mode), mode


def build():
    return padded


def inputs():
    x = paddle.arange(9, dtype="float32").reshape([1, 1, 3, 3])
    yield x, paddle.to_tensor(1)
    yield x, paddle.to_tensor(0)
    yield x + 1, paddle.to_tensor(1)
