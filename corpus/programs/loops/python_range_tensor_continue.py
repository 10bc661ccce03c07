"""Apply shifts one by one and skip those that would leave the interval.

exercises: continue in a Python range decided by a tensor
rows: 39
"""

import paddle


def shift(x, step, bound):
    skipped = 0
    for k in range(4):
        moved = x + step * k
        if moved.abs() > bound:
            skipped += 1
            continue
        x = moved
    return x, skipped


def build():
    return shift


def inputs():
    for bound in (0.2, 2.0, 5.0, 50.0):
        yield paddle.to_tensor(0.5), paddle.to_tensor(1.5), paddle.to_tensor(bound)
