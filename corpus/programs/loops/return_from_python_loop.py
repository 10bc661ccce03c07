"""The first list entry above a bound with its index, or a fallback.

exercises: return out of enumerate(list) and out of a range, decided by tensors
rows: 39, 43
"""

import paddle


def first_above(rows, bound):
    for i, row in enumerate(rows):
        if row.max() > bound:
            return i, row * 2
    x = rows[0]
    for k in range(3):
        x = x + 1
        if x.sum() > bound:
            return k + 10, x
    return -1, x * 0.5


def build():
    return first_above


def inputs():
    for bound in (0.5, 2.5, 3.5, 6.0, 99.0):
        yield [paddle.to_tensor([1.0, 0.5]), paddle.to_tensor([3.0, 0.0])], paddle.to_tensor(bound)
