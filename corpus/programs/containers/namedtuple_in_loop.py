"""A typing.NamedTuple carried by a tensor loop.

exercises: NamedTuple rebound in each trip; method of the NamedTuple; a constant field
rows: 82
"""

from typing import NamedTuple

import paddle


class Point(NamedTuple):
    x: paddle.Tensor
    y: paddle.Tensor
    label: str = "start"

    def norm(self):
        return self.x * self.x + self.y * self.y


def spiral(x, y, bound):
    point = Point(x, y)
    while point.norm() < bound:
        point = Point(point.x * 1.5 - 0.1 * point.y, point.y * 1.5, point.label)
    return point


def build():
    return spiral


def inputs():
    for bound in (5.0, 0.1, 1.0):
        yield paddle.to_tensor(0.5), paddle.to_tensor(0.4), paddle.to_tensor(bound)
