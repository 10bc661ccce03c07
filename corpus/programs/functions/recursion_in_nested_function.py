"""A power by squaring, written as an inner function that calls itself.

exercises: recursive nested function; closure over a tensor
rows: 52, 56
"""

import paddle


def power(x, exponent):
    def go(n):
        if n == 0:
            return paddle.ones_like(x)
        half = go(n // 2)
        if half.max() > 100:
            half = half / 100
        return half * half * x if n % 2 else half * half

    return go(exponent)


def build():
    return power


def inputs():
    x = paddle.to_tensor([1.0, 3.0])
    for exponent in (0, 1, 5, 12):
        yield x, exponent
