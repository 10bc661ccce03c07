"""Normalise along rows or along columns, as a tensor decides.

exercises: python int from a branch as axis of an operator that takes an int only
rows: 69
"""

import paddle


def normalise(x, by_row):
    axis = 0
    if by_row > 0:
        axis = 1
    return paddle.nn.functional.softmax(x, axis=axis)


def build():
    return normalise


def inputs():
    x = paddle.to_tensor([[1.0, 2.0], [3.0, 5.0]])
    for by_row in (1, 0, 2):
        yield x, paddle.to_tensor(by_row)
