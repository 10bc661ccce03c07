"""Flags joined with and and or, kept as values and used as conditions later.

exercises: value of and, or over comparisons; not of a tensor as value; returned
rows: 12
"""

import paddle


def flags(x, low, high):
    inside = x > low and x < high
    outside = x < low or x > high
    neither = not inside and not outside
    if inside:
        x = x * 2
    elif neither:
        x = x + 100
    return x, inside, outside, neither, not outside


def build():
    return flags


def inputs():
    low, high = paddle.to_tensor(0.0), paddle.to_tensor(4.0)
    for x in (-1.0, 1.0, 9.0, 4.0):
        yield paddle.to_tensor(x), low * 1, high * 1
