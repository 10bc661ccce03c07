"""The first sharp prediction of an ensemble, each member asked without gradients.

exercises: return inside with inside a python loop under a tensor if
rows: 43, 46
"""

import paddle
from paddle.nn import functional as F


def ask(x, members, bound):
    for i, member in enumerate(members):
        with paddle.no_grad():
            p = F.softmax(x * member)
            if p.max() > bound:
                return i, p
        x = x + p * member
    return -1, x


def build():
    return ask


def inputs():
    x = paddle.to_tensor([0.5, 1.0])
    members = [paddle.to_tensor(m) for m in (1.0, 3.0)]
    for bound in (0.55, 0.8, 0.999):
        yield x, members, paddle.to_tensor(bound)
