"""The first power of a number over a bound, with its exponent.

exercises: return of a tuple out of a tensor while, nothing but it
rows: 43
"""

import paddle


def first_power(x, bound):
    power, n = x, paddle.ones([], "int64")
    while n < 10:
        if power > bound:
            return power, n
        power, n = power * x, n + 1
    return power, n


def build():
    return first_power


def inputs():
    for x, bound in ((2.0, 5.0), (2.0, 1.0), (1.0, 5.0)):
        yield paddle.to_tensor(x), paddle.to_tensor(bound)
