"""Repeat a smoothing step as often as a branch says.

exercises: python int from a branch as the bound of range
rows: 69
"""

import paddle


def smooth_times(x):
    times = 1
    if x.max() > 2:
        times = 3
    if x.min() < 0:
        times = 0
    for i in range(times):
        x = (x + x.mean()) / (2 + i)
    return x, times


def build():
    return smooth_times


def inputs():
    yield (paddle.to_tensor([1.0, 2.0]),)
    yield (paddle.to_tensor([1.0, 4.0]),)
    yield (paddle.to_tensor([-1.0, 4.0]),)
