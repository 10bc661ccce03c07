"""Readings by their distance from a target.

exercises: sorted of a list of tensors with key
rows: 15
"""

import paddle


def by_distance(a, b, c, target):
    near, _, far = sorted([a, b, c], key=lambda v: (v - target).abs())
    return near * 2, far - near


def build():
    return by_distance


def inputs():
    target = paddle.to_tensor(3.0)
    for row in ((3.0, 1.0, 7.0), (1.0, 2.5, 4.0), (9.0, 5.0, 1.5)):
        yield *(paddle.to_tensor(v) for v in row), target
