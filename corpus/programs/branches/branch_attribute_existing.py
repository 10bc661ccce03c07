"""A plain tracker object whose attributes exist and change in a branch.

exercises: attribute of an object assigned in a branch; augmented attribute; two objects
rows: 84
"""

import paddle


class Tracker:
    def __init__(self, value):
        self.value = value
        self.count = 0


def track(x, low):
    first = Tracker(x.sum())
    second = Tracker(x.mean())
    if x.sum() > low:
        first.value = first.value * 2
        second.count += 1
    else:
        second.value = first.value - low
    return first.value + second.value, first.count, second.count


def build():
    return track


def inputs():
    low = paddle.to_tensor(1.0)
    for x in ([1.0, 2.0], [-1.0, 0.5], [3.0, 3.0]):
        yield paddle.to_tensor(x), low
