"""A table that gains a row and a column in each trip.

exercises: loop variable whose two dimensions grow, by pad and by concat; its shape read after
rows: 22, 26
"""

import paddle


def grow(table, n):
    for k in range(n):
        row = table.sum(axis=0, keepdim=True)
        table = paddle.concat([table, row])
        column = table.mean(axis=1, keepdim=True)
        table = paddle.concat([table, column], axis=1)
    return table, table.shape[0] + table.shape[1]


def build():
    return grow


def inputs():
    for n in (0, 1, 3):
        yield paddle.to_tensor([[1.0, 2.0], [3.0, 4.0]]), paddle.to_tensor(n)
