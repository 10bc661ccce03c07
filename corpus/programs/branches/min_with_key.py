"""The candidate that is closest to a target.

exercises: min with key over a list of tensors
rows: 15
"""

import paddle


def closest(candidates, target):
    best = min(candidates, key=lambda c: (c - target).abs())
    return best * 2


def build():
    return closest


def inputs():
    target = paddle.to_tensor(2.0)
    for row in ((1.0, 5.0), (9.0, 2.5), (2.0, 2.0)):
        yield [paddle.to_tensor(v) for v in row], target
