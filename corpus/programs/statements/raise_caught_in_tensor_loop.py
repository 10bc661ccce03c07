"""Entries that fail a check are counted, in a loop over a tensor.

exercises: raise under a tensor condition caught inside the body of a tensor loop
rows: 60
"""

import paddle


def sum_of_valid(x):
    total = x.sum() * 0
    failed = 0
    for v in x:
        try:
            if v < 0:
                raise ValueError("negative")
            total = total + v
        except ValueError:
            failed += 1
    return total, failed


def build():
    return sum_of_valid


def inputs():
    yield (paddle.to_tensor([1.0, -2.0, 3.0]),)
    yield (paddle.to_tensor([1.0, 2.0, 3.0]),)
    yield (paddle.to_tensor([-1.0, -2.0, -3.0]),)
