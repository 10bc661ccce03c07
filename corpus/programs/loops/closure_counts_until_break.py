"""A budget that each look at a candidate uses up.

exercises: nested function with a nonlocal int called in a Python loop with a tensor break
rows: 39, 53
"""

import paddle


def look(parts, bound):
    budget = 3

    def spend():
        nonlocal budget
        budget -= 1

    best = paddle.zeros([])
    for p in parts:
        spend()
        if p > bound:
            best = p * 2
            break
    return best, budget


def build():
    return look


def inputs():
    for bound in (0.5, 1.5, 9.0):
        yield [paddle.to_tensor(v) for v in (1.0, 2.0, 3.0)], paddle.to_tensor(bound)
