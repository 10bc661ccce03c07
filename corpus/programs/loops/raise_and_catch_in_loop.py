"""Entries that are too large are refused one by one.

exercises: raise on a tensor condition in a try inside a for over a tensor, caught there
rows: 27, 60
"""

import paddle


def accept(x, bound):
    total = paddle.zeros([])
    for v in x:
        try:
            if v > bound:
                raise ValueError("too large")
            total = total + v
        except ValueError:
            total = total - 1
    return total


def build():
    return accept


def inputs():
    for bound in (0.5, 1.5, 9.0):
        yield paddle.to_tensor([1.0, 2.0, 1.5]), paddle.to_tensor(bound)
