"""Two names of one value leave a branch; then one of them goes on.

exercises: value yielded twice by a branch; one of its names rebound afterwards
rows: 1
"""

import paddle


def keep(x):
    if x.sum() > 0:
        best = x * 2
        last = best
    else:
        best = x - 1
        last = best
    best = best + 10
    return best, last


def build():
    return keep


def inputs():
    yield (paddle.to_tensor([1.0, 3.0]),)
    yield (paddle.to_tensor([-1.0, -3.0]),)
