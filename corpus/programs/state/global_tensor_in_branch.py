"""A global sum that a tensor branch adds to.

exercises: global tensor assigned in a tensor branch of a function that runs several times
rows: 53
"""

import paddle

total = paddle.zeros([])
OBSERVED = lambda: total  # noqa: E731


def add(x):
    global total
    if x.sum() > 0:
        total = total + x.detach().sum()
    return x * 2


def build():
    global total
    total = paddle.zeros([])
    return add


def inputs():
    for sign in (1.0, -1.0):
        yield (paddle.to_tensor([1.0, 2.0]) * sign,)
