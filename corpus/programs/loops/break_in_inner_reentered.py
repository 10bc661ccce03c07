"""For each threshold, walk through the values from the start until it is passed.

exercises: break in an inner tensor loop that is entered again in each trip of the outer one
rows: 38
"""

import paddle


def walk(values, thresholds):
    out = paddle.zeros([])
    for t in thresholds:
        for v in values:
            if v > t:
                break
            out = out + v * t
    return out


def build():
    return walk


def inputs():
    yield paddle.to_tensor([1.0, 2.0, 3.0]), paddle.to_tensor([1.5, 0.5, 9.0])
    yield paddle.to_tensor([5.0, 6.0, 7.0]), paddle.to_tensor([1.0, 2.0, 3.0])
    yield paddle.to_tensor([1.0, 2.0, 3.0]), paddle.to_tensor([9.0, 9.0, 9.0])
