"""Where a ball comes to rest, and how fast it was.

exercises: return of a tuple out of a tensor while; another return of a tuple after it
rows: 17, 43
"""

import paddle


def roll(x, v, wall):
    while v.abs() > 0.1:
        x = x + v
        if x > wall:
            return wall, v
        v = v * 0.5
    return x, v * 0


def build():
    return roll


def inputs():
    for v, wall in ((0.05, 2.0), (1.0, 2.0), (1.0, 1.2), (-1.0, 5.0)):
        yield paddle.to_tensor(0.0), paddle.to_tensor(v), paddle.to_tensor(wall)
