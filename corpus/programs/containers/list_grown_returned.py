"""Collatz orbit as a list of tensors.

exercises: grown list returned; empty list returned
rows: 75
"""

import paddle


def orbit(n):
    seen = []
    while n > 1:
        seen.append(n)
        if n % 2 == 0:
            n = n / 2
        else:
            n = 3 * n + 1
    return seen


def build():
    return orbit


def inputs():
    for n in (6.0, 1.0, 2.0, 5.0):
        yield (paddle.to_tensor(n),)
