"""A nested helper that changes a variable of the function around it.

exercises: nonlocal in a nested function called in tensor branches
rows: 52, 53
"""

import paddle


def tallied(x):
    count = 0
    total = x * 0

    def add(v):
        nonlocal count, total
        count += 1
        total = total + v

    add(x)
    if x.sum() > 0:
        add(x * 2)
    else:
        add(-x)
        add(x * x)
    return total, count


def build():
    return tallied


def inputs():
    yield (paddle.to_tensor([1.0, 2.0]),)
    yield (paddle.to_tensor([-1.0, -2.0]),)
