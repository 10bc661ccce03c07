"""The first power of a number over a bound.

exercises: return of one tensor out of a tensor while; another after it
rows: 43
"""

import paddle


def first_power(x, bound):
    power, n = x, paddle.ones([], "int64")
    while n < 10:
        if power > bound:
            return power * 2
        power, n = power * x, n + 1
    return power


def build():
    return first_power


def inputs():
    for x, bound in ((2.0, 5.0), (2.0, 1.0), (1.0, 5.0)):
        yield paddle.to_tensor(x), paddle.to_tensor(bound)
