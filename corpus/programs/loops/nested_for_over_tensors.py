"""A weighted edit of every entry of a matrix.

exercises: for over a tensor inside a for over a tensor, of known lengths; gradients
rows: 27
"""

import paddle


def mix(matrix, weights):
    total = paddle.zeros([])
    for row, w in zip(matrix, weights):
        for v in row:
            total = total * 0.9 + w * v * v
    return total


def build():
    return mix


def inputs():
    yield paddle.to_tensor([[1.0, 2.0], [3.0, -4.0]]), paddle.to_tensor([0.5, 2.0])
    yield paddle.to_tensor([[0.0, 1.0], [1.0, 0.5]]), paddle.to_tensor([-1.0, 1.0])
