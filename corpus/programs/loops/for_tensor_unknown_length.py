"""A recurrent cell over the rows of a matrix of any height.

exercises: for over a tensor whose leading dimension is unknown; a tensor branch in the body
rows: 27
"""

import paddle
from paddle.static import InputSpec

INPUT_SPEC = lambda: [InputSpec([None, 2], "float32"), InputSpec([2], "float32")]


def recurrent(rows, w):
    h = paddle.zeros([2])
    for row in rows:
        h = paddle.tanh(row + h * w)
        if h.sum() < 0:
            h = h * 0.5
    return h


def build():
    return recurrent


def inputs():
    w = [0.5, -1.0]
    yield paddle.to_tensor([[1.0, 0.0], [0.5, 1.0], [-2.0, -2.0]]), paddle.to_tensor(w)
    yield paddle.to_tensor([[-1.0, 0.0]]), paddle.to_tensor(w)
    yield paddle.to_tensor([[1.0, 0.0], [-1.0, -1.0], [2.0, 0.0], [1.0, 1.0]]), paddle.to_tensor(w)
