"""Smooth a grown path: each new point corrects the one before.

exercises: item of a grown list assigned by a negative int and by the loop index
rows: 76
"""

import paddle


def smoothed(x, steps):
    path = [x]
    for i in range(steps):
        path.append(path[-1] * 1.5 + 1)
        path[-2] = (path[-2] + path[-1]) / 2
        path[i] = path[i] + 0.1
    return paddle.stack(path)


def build():
    return smoothed


def inputs():
    for steps in (3, 0, 1):
        yield paddle.to_tensor([1.0, 2.0]), paddle.to_tensor(steps)
