"""The roots of a quadratic: none, one or two of them.

exercises: tuples of length zero, one and two by path
rows: 45
"""

import paddle


def roots(b, c):
    inside = b * b - 4 * c
    if inside < 0:
        return ()
    if inside == 0:
        return (-b / 2,)
    root = paddle.sqrt(inside)
    return (-b - root) / 2, (-b + root) / 2


def build():
    return roots


def inputs():
    for b, c in ((3.0, 2.0), (2.0, 1.0), (1.0, 1.0)):
        yield paddle.to_tensor(b), paddle.to_tensor(c)
