"""Integer division behind a test for zero.

exercises: short circuit; right operand that divides integers by zero
rows: 11
"""

import paddle


def divides(n, d, x):
    if d != 0 and n % d == 0:
        return x * (n // d)
    if d == 0 or n // d > 3:
        return x - 1
    return x


def build():
    return divides


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    for n, d in ((6, 3), (6, 0), (9, 2), (5, 3)):
        yield paddle.to_tensor(n), paddle.to_tensor(d), x
