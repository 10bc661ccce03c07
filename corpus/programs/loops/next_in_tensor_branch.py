"""Take one more weight from the stream when the first is too small.

exercises: next() of a Python iterator in one branch of a tensor if, and again after it
rows: 32
"""

import paddle


def draw(x, bound):
    weights = iter([0.5, 2.0, 10.0])
    w = next(weights)
    if x.max() < bound:
        w = next(weights)
    return x * w + next(weights)


def build():
    return draw


def inputs():
    for bound in (0.5, 9.0):
        yield paddle.to_tensor([1.0, -2.0]), paddle.to_tensor(bound)
