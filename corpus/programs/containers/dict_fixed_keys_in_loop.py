"""Sums for each class of a stream, kept in a dict.

exercises: dict items augmented in a tensor loop; branches in the loop
rows: 79
"""

import paddle


def tally(values, count):
    sums = {"low": paddle.zeros([]), "high": paddle.zeros([])}
    for i in range(count):
        if values[i] < 0:
            sums["low"] += values[i]
        else:
            sums["high"] += values[i]
    return sums


def build():
    return tally


def inputs():
    values = paddle.to_tensor([1.0, -2.0, 3.0, -4.0])
    for count in (4, 0, 1):
        yield values, paddle.to_tensor(count)
