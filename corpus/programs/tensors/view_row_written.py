"""A row is taken out of a matrix and written; the matrix sees it.

exercises: write through the view x[0]; in-place method on the view x[1]
rows: 88
"""

import paddle

GRAD = False  # a write through a view is not recorded for gradients of the whole


def reset_row(x, value):
    y = x * 1
    row = y[0]
    row[...] = value
    if value > 1:
        y[1].add_(paddle.ones([3]))
    return y, row


def build():
    return reset_row


def inputs():
    x = paddle.to_tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    yield x, paddle.to_tensor(7.0)
    yield x, paddle.to_tensor(0.5)
