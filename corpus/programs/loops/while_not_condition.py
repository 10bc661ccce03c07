"""Rotate a point until it stands in the first quadrant.

exercises: while not; not over an and of tensors in parentheses
rows: 10, 17
"""

import paddle


def first_quadrant(x, y):
    turns = paddle.zeros([], "int64")
    while not (x > 0 and y > 0):
        x, y = -y, x
        turns = turns + 1
    return x, y, turns


def build():
    return first_quadrant


def inputs():
    for x, y in ((1.0, 2.0), (2.0, -1.0), (-1.0, -3.0), (-1.0, 3.0)):
        yield paddle.to_tensor(x), paddle.to_tensor(y)
