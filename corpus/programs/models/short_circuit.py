"""Divide only after the divisor has been checked; the right operand must not run otherwise.

exercises: short circuit of and; short circuit of or; right operand that asserts
rows: 10, 11, 61
"""

import paddle


def ratio(x, y):
    assert y != 0, "division was reached with a zero divisor"
    return x / y


def guarded(x, y):
    if y != 0 and ratio(x, y) > 2:
        return x * 2
    if y == 0 or ratio(x, y) < 1:
        return x * 3
    return x + y


def build():
    return guarded


def inputs():
    for x, y in ((6.0, 2.0), (6.0, 0.0), (1.0, 2.0), (3.0, 2.0)):
        yield paddle.to_tensor(x), paddle.to_tensor(y)
