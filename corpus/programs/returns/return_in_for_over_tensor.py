"""The first row of a matrix that is positive throughout.

exercises: return in a for over a tensor
rows: 43
"""

import paddle


def positive_row(matrix):
    total = paddle.zeros([2])
    for row in matrix:
        if (row > 0).all():
            return row * 2
        total = total + row
    return total


def build():
    return positive_row


def inputs():
    yield (paddle.to_tensor([[1.0, 2.0], [-1.0, 3.0], [4.0, 5.0]]),)
    yield (paddle.to_tensor([[1.0, -2.0], [-1.0, 3.0], [4.0, 5.0]]),)
    yield (paddle.to_tensor([[1.0, -2.0], [-1.0, 3.0], [-4.0, 5.0]]),)
