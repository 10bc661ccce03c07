"""Anchors in a global list of tensors, one of which is replaced between calls.

exercises: list of captured tensors whose item is replaced, and that grows, between calls
rows: 98, 97
"""

import paddle

anchors = []


def nearest(x):
    best = (x - anchors[0]).abs().sum()
    for anchor in anchors[1:]:
        d = (x - anchor).abs().sum()
        if d < best:
            best = d
    return best


def BEFORE(index):
    anchors[:] = [paddle.to_tensor([float(index), 0.5]), paddle.to_tensor([3.0, 3.0])]
    if index == 2:
        anchors.append(paddle.to_tensor([9.0, 1.0]))


def build():
    return nearest


def inputs():
    for value in (1.5, 1.5, 9.0):
        yield (paddle.to_tensor([value, 0.25]),)
