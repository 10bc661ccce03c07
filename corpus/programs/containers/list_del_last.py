"""Backtracking: a step that overshoots is taken back.

exercises: del of the last item of a grown list in a branch
rows: 76
"""

import paddle


def backtrack(x, limit, steps):
    trail = [x]
    for _ in range(steps):
        trail.append(trail[-1] * 2)
        if trail[-1].sum() > limit:
            del trail[-1]
    return trail[-1], len(trail)


def build():
    return backtrack


def inputs():
    x = paddle.to_tensor([1.0, 0.5])
    for limit, steps in ((100.0, 3), (4.0, 3), (1.0, 2), (4.0, 0)):
        yield x, paddle.to_tensor(limit), paddle.to_tensor(steps)
