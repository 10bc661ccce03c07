"""The sum goes out: the int 0 without a trip, a tensor after one.

exercises: loop variable that starts as an int and becomes a tensor, returned as it is
rows: 23
"""

import paddle


def energy(x, bound):
    total = 0
    while x.abs().max() > bound:
        total = total + (x * x).sum()
        x = x * 0.5
    return x, total


def build():
    return energy


def inputs():
    for bound in (9.0, 1.5, 0.3):
        yield paddle.to_tensor([1.0, 2.0]), paddle.to_tensor(bound)
