"""Roots of those values that have one, by a walrus in the filter.

exercises: walrus over tensors in the filter of a comprehension
rows: 49
"""

import paddle


def large_squares(values):
    found = [s for v in values if (s := v * v) > 2]
    return sum(found), s


def build():
    return large_squares


def inputs():
    for numbers in ([1.0, 2.0, 3.0], [2.0, 3.0, 1.0]):
        yield ([paddle.to_tensor(v) for v in numbers],)
