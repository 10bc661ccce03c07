"""A temporary is deleted at the end of each trip.

exercises: del of a local at the end of the body of a tensor while
rows: 17, 64
"""

import paddle


def descend(x, bound):
    while (x * x).sum() > bound:
        gradient = 2 * x
        x = x - 0.3 * gradient
        del gradient
    return x


def build():
    return descend


def inputs():
    for bound in (99.0, 2.0, 0.1):
        yield paddle.to_tensor([1.0, -2.0]), paddle.to_tensor(bound)
