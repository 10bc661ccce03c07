"""The mean of a batch beside its peak, which a branch picks.

exercises: item of a dict set on both sides of a branch; the same input reduced outside of it
rows: 79
"""

import paddle


def summary(x):
    found = {"mean": x.mean()}
    if x.sum() > 0:
        found["peak"] = x.max()
    else:
        found["peak"] = x.min()
    return found


def build():
    return summary


def inputs():
    for sign in (1.0, -1.0):
        yield (paddle.to_tensor([1.0, 2.0]) * sign,)
