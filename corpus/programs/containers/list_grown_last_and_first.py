"""Iterate a map and compare its last point with the first.

exercises: first and last item of a list that a tensor loop grew
rows: 74
"""

import paddle


def drift(x, bound):
    points = [x]
    while points[-1].sum() < bound:
        points.append(points[-1] * 1.5 + 0.1)
    return points[-1] - points[0], points[-1] * 2


def build():
    return drift


def inputs():
    x = paddle.to_tensor([0.5, 0.25])
    for bound in (3.0, 0.1, 1.0, 10.0):
        yield x, paddle.to_tensor(bound)
