"""A recurrent cell over the rows of a matrix.

exercises: for over the rows of a tensor of known length; branch in the body
rows: 27
"""

import paddle


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
    yield paddle.to_tensor([[1.0, 0.0], [0.5, 1.0], [2.0, 2.0]]), paddle.to_tensor(w)
    yield paddle.to_tensor([[-1.0, 0.0], [0.5, 1.0], [-2.0, 0.0]]), paddle.to_tensor(w)
    yield paddle.zeros([0, 2]), paddle.to_tensor(w)
