"""Bounds of a search as one tuple, narrowed until they are close.

exercises: tuple variable rebound in a branch within a tensor loop; unpacking and indexing
rows: 82
"""

import paddle


def bisect(target, tolerance):
    bounds = (paddle.to_tensor(0.0) * target, target + 1)
    while bounds[1] - bounds[0] > tolerance:
        low, high = bounds
        middle = (low + high) / 2
        if middle * middle > target:
            bounds = low, middle
        else:
            bounds = (middle, high)
    return bounds


def build():
    return bisect


def inputs():
    for target, tolerance in ((2.0, 0.1), (2.0, 9.0), (0.25, 0.5)):
        yield paddle.to_tensor(target), paddle.to_tensor(tolerance)
