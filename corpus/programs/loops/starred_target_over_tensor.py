"""Rows of a matrix taken apart into the first entry and the rest.

exercises: for first, *rest in a tensor; for a, b in a tensor
rows: 27, 35
"""

import paddle


def fold(matrix, pairs):
    total = paddle.zeros([])
    for first, *rest in matrix:
        if first > 0:
            total = total + first * rest[0] - rest[1]
    for a, b in pairs:
        total = total + a * b
    return total


def build():
    return fold


def inputs():
    for v in (1.0, -1.0):
        m = [[v, 2.0, 3.0], [0.5, v, v]]
        yield paddle.to_tensor(m), paddle.to_tensor([[v, 1.0], [2.0, 3.0], [v, v]])
