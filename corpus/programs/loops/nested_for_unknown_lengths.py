"""A weighted edit of every entry of a matrix of any size.

exercises: for over a tensor inside a for over a tensor, both of unknown length; gradients
rows: 27
"""

import paddle
from paddle.static import InputSpec

INPUT_SPEC = lambda: [InputSpec([None, None], "float32"), InputSpec([], "float32")]


def mix(matrix, decay):
    total = paddle.zeros([])
    for row in matrix:
        for v in row:
            total = total * decay + v * v
        total = total + row.sum()
    return total


def build():
    return mix


def inputs():
    yield paddle.to_tensor([[1.0, 2.0], [3.0, -4.0]]), paddle.to_tensor(0.9)
    yield paddle.to_tensor([[1.0, 2.0, 0.5]]), paddle.to_tensor(0.5)
    yield paddle.to_tensor([[1.0], [2.0], [3.0], [4.0]]), paddle.to_tensor(1.1)
