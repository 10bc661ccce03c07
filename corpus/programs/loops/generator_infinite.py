"""A generator without an end is left by a tensor break.

exercises: endless Python generator consumed by a for; break decided by a tensor
rows: 32
"""

import paddle


def halving(rate):
    while True:
        yield rate
        rate = rate / 2


def settle(x, bound):
    for rate in halving(0.8):
        x = x - rate * x
        if x.abs() < bound:
            break
    return x


def build():
    return settle


def inputs():
    for bound in (9.0, 0.1, 0.11):
        yield paddle.to_tensor(1.0), paddle.to_tensor(bound)
