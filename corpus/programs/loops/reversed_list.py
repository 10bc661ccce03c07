"""Undo a list of steps from the last one, until the value is positive.

exercises: reversed(list of tensors) with a tensor break
rows: 30, 39
"""

import paddle


def undo(x, steps):
    for step in reversed(steps):
        x = x - step
        if x.min() > 0:
            break
    return x


def build():
    return undo


def inputs():
    for start in (9.0, 2.0, -5.0):
        x = paddle.to_tensor([start, start + 1])
        yield x, [paddle.to_tensor(v) for v in (0.5, -3.0, 2.5)]
