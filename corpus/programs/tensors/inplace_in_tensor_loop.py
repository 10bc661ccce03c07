"""Power iteration with its vector changed in place.

exercises: in-place methods in a tensor loop on a tensor made outside
rows: 88
"""

import paddle

GRAD = False  # dygraph's own gradient of repeated in-place steps is refused


def iterate(matrix, n):
    v = paddle.ones([2])
    i = paddle.zeros([], dtype="int64")
    while i < n:
        w = matrix @ v
        v.zero_()
        v.add_(w / w.abs().max())
        i.add_(paddle.ones([], dtype="int64"))
    return v, i


def build():
    return iterate


def inputs():
    matrix = paddle.to_tensor([[2.0, 1.0], [1.0, 3.0]])
    for n in (0, 1, 6):
        yield matrix, paddle.to_tensor(n)
