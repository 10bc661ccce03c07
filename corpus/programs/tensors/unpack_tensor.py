"""Corners of a box from one tensor.

exercises: unpacking a tensor into names, with a star, nested; iterating rows
rows: 27, 82
"""

import paddle


def area(box, points):
    left, top, right, bottom = box
    if right < left:
        left, right = right, left
    (x0, y0), *others = points
    first, *middle, last = box
    total = (right - left) * (bottom - top)
    for x, y in others:
        total = total + x * y0 - y * x0
    return total, len(others), len(middle), first + last


def build():
    return area


def inputs():
    points = paddle.to_tensor([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    yield paddle.to_tensor([0.0, 1.0, 4.0, 5.0]), points
    yield paddle.to_tensor([4.0, 1.0, 0.0, 5.0]), points
