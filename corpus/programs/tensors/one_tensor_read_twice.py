"""A matrix that is multiplied with itself and added, and one whose rows change places.

exercises: operations that read one tensor as two operands
rows: 70
"""

import paddle


def square_and_swap(x, order):
    y = x * 1.5
    squared = paddle.addmm(y, y, y, 0.5, 0.25)
    if x.sum() > 0:
        squared = paddle.addmm(x + 1, x + 1, x + 1)
    return squared, paddle.scatter(x + 0.5, order, x + 0.5)


def build():
    return square_and_swap


def inputs():
    order = paddle.to_tensor([1, 0])
    yield paddle.to_tensor([[0.25, 0.5], [1.0, -0.5]]), order
    yield paddle.to_tensor([[-2.0, 0.5], [1.0, -0.5]]), order
