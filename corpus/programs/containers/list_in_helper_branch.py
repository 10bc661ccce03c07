"""A helper appends to the caller's list under a tensor condition.

exercises: list of the caller changed by a helper in a tensor branch
rows: 78
"""

import paddle


def keep_large(kept, x, bound):
    if x.abs().max() > bound:
        kept.append(x / bound)


def peaks(x):
    kept = []
    for bound in (1.0, 2.0, 4.0, 8.0):
        keep_large(kept, x, bound)
    total = x.sum() * 0
    for item in kept:
        total = total + item.sum()
    return total, len(kept)


def build():
    return peaks


def inputs():
    yield (paddle.to_tensor([0.5, -0.25]),)
    yield (paddle.to_tensor([3.0, -0.25]),)
    yield (paddle.to_tensor([3.0, -16.0]),)
