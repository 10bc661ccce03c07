"""The set of active parts gets one more when the input is large.

exercises: set add and discard in a tensor branch; len and membership afterwards
rows: 80
"""

import paddle


def active_parts(x):
    active = {1, 2}
    if x.sum() > 0:
        active.add(3)
    else:
        active.discard(1)
    if 3 in active:
        x = x * 10
    return x * len(active), len(active)


def build():
    return active_parts


def inputs():
    for sign in (1.0, -1.0):
        yield (paddle.to_tensor([1.0, 2.0]) * sign,)
