"""Each step adds a point and its mirror image.

exercises: extend in a tensor loop by a list and by a tuple
rows: 76
"""

import paddle


def mirrored(x, steps):
    points = []
    for _ in range(steps):
        points.extend([x, -x])
        x = x * 0.5
    points.extend((x, x + 1))
    return paddle.stack(points)


def build():
    return mirrored


def inputs():
    for steps in (2, 0, 1, 3):
        yield paddle.to_tensor([1.0, 2.0]), paddle.to_tensor(steps)
