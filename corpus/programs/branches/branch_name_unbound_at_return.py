"""Return a peak that was found on one path only; the other path raises as Python does.

exercises: name first bound in one branch and returned; UnboundLocalError on the other path
rows: 3
"""

import paddle

RAISES = {1: UnboundLocalError}


def first_peak(x, floor):
    if x.max() > floor:
        peak = x.max()
    doubled = x * 2
    return doubled, peak


def build():
    return first_peak


def inputs():
    floor = paddle.to_tensor(1.0)
    yield paddle.to_tensor([0.5, 2.0]), floor
    yield paddle.to_tensor([0.5, 0.2]), floor
    yield paddle.to_tensor([5.0, 0.2]), floor
