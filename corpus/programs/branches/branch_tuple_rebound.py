"""The larger and the smaller of two vectors as a tuple, swapped in a branch.

exercises: tuple rebound in a branch; swap by unpacking; nested tuple
rows: 82
"""

import paddle


def ordered(a, b):
    pair = (a, b)
    state = (a.sum(), (b.sum(), 0))
    if a.sum() < b.sum():
        a, b = b, a
        pair = (a, b)
        state = (a.sum(), (b.sum(), 1))
    high, low = pair
    _, (_, swaps) = state
    return high - low, state, swaps


def build():
    return ordered


def inputs():
    big, small = paddle.to_tensor([3.0, 4.0]), paddle.to_tensor([1.0, 0.5])
    yield big, small
    yield small, big
    yield big, big * 1
