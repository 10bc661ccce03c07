"""Positive and negative values of a stream go to two lists.

exercises: two lists grown in one tensor loop by different sides of a branch
rows: 74
"""

import paddle


def partition(values, count):
    low, high = [], []
    pivot = values[0]
    for i in range(count):
        v = values[i]
        if v < pivot:
            low.append(v)
        else:
            high.append(v)
    return low, high


def build():
    return partition


def inputs():
    for values in ([2.0, 1.0, 3.0, 0.5], [0.0, 1.0, 3.0, 0.5], [9.0, 1.0, 3.0, 0.5]):
        yield paddle.to_tensor(values), paddle.to_tensor(4)
    yield paddle.to_tensor([2.0, 1.0, 3.0, 0.5]), paddle.to_tensor(0)
