"""Keep the two largest moments of a process in a list of two.

exercises: list items assigned by int in a tensor loop and in a branch
rows: 76
"""

import paddle


def moments(x, steps):
    kept = [paddle.zeros([2]), paddle.zeros([2])]
    for _ in range(steps):
        kept[0] = kept[0] + x
        if x.sum() > 0:
            kept[-1] = kept[-1] + x * x
        x = x - 1
    return kept[0], kept[1], kept


def build():
    return moments


def inputs():
    for steps in (3, 0, 1):
        yield paddle.to_tensor([1.0, 2.0]), paddle.to_tensor(steps)
