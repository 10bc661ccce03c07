"""A list to which each trip of a Python loop may append: one of nine lengths.

exercises: append in a tensor branch of an unrolled loop
rows: 76
"""

import paddle


def thresholds(x):
    passed = []
    for step in range(8):
        if x.sum() > step:
            passed.append(x * step)
    if len(passed) == 0:
        return x
    return paddle.stack(passed).mean(axis=0) + len(passed)


def build():
    return thresholds


def inputs():
    yield (paddle.to_tensor([-1.0, 0.5]),)
    yield (paddle.to_tensor([1.0, 1.5]),)
    yield (paddle.to_tensor([5.0, 7.5]),)
