"""The first entry is the reference of all others.

exercises: iter(tensor) with next() before a for that goes on with it
rows: 27, 32
"""

import paddle


def above_first(x):
    entries = iter(x)
    first = next(entries)
    total = first * 0
    for v in entries:
        if v > first:
            total = total + v - first
    return total


def build():
    return above_first


def inputs():
    yield (paddle.to_tensor([1.0, 2.0, 0.5, 3.0]),)
    yield (paddle.to_tensor([3.0, 2.0, 0.5, 1.0]),)
