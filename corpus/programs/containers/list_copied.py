"""Keep a snapshot of the path before the last loop goes on with it.

exercises: copy, list() and slice copy of a grown list; the copy is apart
rows: 76, 78
"""

import paddle


def snapshots(x, steps):
    path = []
    for _ in range(steps):
        path.append(x)
        x = x * 2
    first, second, third = path.copy(), list(path), path[:]
    for _ in range(steps):
        path.append(x)
    second.append(x)
    return first, second, third, len(path)


def build():
    return snapshots


def inputs():
    for steps in (2, 0, 1):
        yield paddle.to_tensor([1.0, 2.0]), paddle.to_tensor(steps)
