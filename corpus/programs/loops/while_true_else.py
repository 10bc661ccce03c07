"""A Python countdown with a tensor break and an else.

exercises: while-else on a Python condition with a tensor break
rows: 18, 39
"""

import paddle


def countdown(x, bound):
    n = 3
    while n > 0:
        x = x * 1.5
        if x.sum() > bound:
            x = x - 1
            break
        n -= 1
    else:
        x = x + 100
    return x, n


def build():
    return countdown


def inputs():
    for bound in (2.0, 6.0, 9.0, 1000.0):
        yield paddle.to_tensor([1.0, 2.0]), paddle.to_tensor(bound)
