"""A bonus that is the Python number 0.0 on one path and a tensor on the other is returned.

exercises: python float against a tensor, returned as it is
rows: 5
"""

import paddle


def with_bonus(x, bound):
    bonus = 0.0
    if x.max() > bound:
        bonus = x.max() - bound
    return x * 2, bonus


def build():
    return with_bonus


def inputs():
    bound = paddle.to_tensor(1.5)
    for x in ([1.0, 2.0], [0.5, 0.25], [3.0, 2.0]):
        yield paddle.to_tensor(x), bound
