"""Skip the even counts of an endless counter until the sum is large.

exercises: itertools.count with continue on Python values and a tensor break
rows: 32, 37
"""

import itertools

import paddle


def odd_sum(x, bound):
    total = paddle.zeros([])
    for n in itertools.count():
        if n % 2 == 0:
            continue
        total = total + x * n
        if total > bound:
            break
    return total


def build():
    return odd_sum


def inputs():
    for bound in (0.5, 3.0, 20.0):
        yield paddle.to_tensor(1.5), paddle.to_tensor(bound)
