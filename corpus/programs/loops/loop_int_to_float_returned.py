"""The weight itself goes out: an int without a trip, a float after one.

exercises: loop variable int before and float after a trip, returned as it is
rows: 23
"""

import paddle


def weight_after(x, bound):
    weight = 1
    while x.sum() > bound:
        x = x * 0.5
        weight = weight * 0.5
    return x, weight


def build():
    return weight_after


def inputs():
    for bound in (9.0, 2.0, 0.5):
        yield paddle.to_tensor([1.0, 2.0]), paddle.to_tensor(bound)
