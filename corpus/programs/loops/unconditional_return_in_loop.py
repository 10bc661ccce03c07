"""The first half-step, if any step is allowed.

exercises: return without a condition in a for over range(t), in a tensor while and over a list
rows: 44
"""

import paddle


def first(x, n, parts):
    for i in range(n):
        return x * 0.5 + i
    while x.sum() > 9:
        return x - 1
    for p in parts:
        return x + p
    return x


def build():
    return first


def inputs():
    for v, n in ((1.0, 0), (1.0, 1), (1.0, 3), (20.0, 0)):
        yield paddle.to_tensor([v, 2.0]), paddle.to_tensor(n), [paddle.to_tensor([v, v])] * 2
    yield paddle.to_tensor([1.0, 2.0]), paddle.to_tensor(0), []
