"""The last rejected candidate, or None when the first one is accepted.

exercises: None before a tensor while, returned as it is after zero trips
rows: 24
"""

import paddle


def propose(x, bound):
    rejected = None
    while x.sum() > bound:
        rejected = x
        x = x * 0.5
    return x, rejected


def build():
    return propose


def inputs():
    for bound in (99.0, 2.0, 0.5):
        yield paddle.to_tensor([1.0, 2.0]), paddle.to_tensor(bound)
