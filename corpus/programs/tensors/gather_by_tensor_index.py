"""Rows and elements by index tensors, masks and pairs of indices.

exercises: indexing by an int tensor, a bool mask, a list, a pair of tensors and mixed with slices
rows: 90
"""

import paddle


def choose(table, rows, columns):
    some = table[rows]
    points = table[rows, columns]
    big = table[table > 2]
    mixed = table[rows, 1:]
    if points.sum() > 3:
        some = some + 1
    return some, points, big, mixed, table[[1, 0]]


def build():
    return choose


def inputs():
    table = paddle.to_tensor([[1.0, 2.0, 3.0], [4.0, 0.5, -1.0]])
    yield table, paddle.to_tensor([0, 1]), paddle.to_tensor([2, 2])
    yield table, paddle.to_tensor([1, 1]), paddle.to_tensor([0, 1])
