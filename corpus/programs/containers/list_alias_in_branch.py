"""A list of two states, changed through another name in a branch.

exercises: item assigned through an alias in a tensor branch
rows: 78
"""

import paddle


def swapped(a, b):
    states = [a, b]
    alias = states
    if a.sum() < b.sum():
        alias[0], alias[1] = alias[1] * 2, alias[0]
    return states[0] - states[1], states is alias


def build():
    return swapped


def inputs():
    a = paddle.to_tensor([1.0, 2.0])
    yield a, a + 1
    yield a, a - 1
