"""The first plan that is good enough, or the default of the else.

exercises: else of a Python for, with and without a break
rows: 36
"""

import paddle


def choose(x, plans, need):
    best = 0
    for plan in plans:
        if plan >= need:
            best = plan
            break
    else:
        best = -1
    return x * best


def build():
    return choose


def inputs():
    for need in (2, 9, 1):
        yield paddle.to_tensor([1.0, 3.0]), (1, 2, 3), need
