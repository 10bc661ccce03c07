"""Pieces of a sequence come from a generator with a tensor condition between its yields.

exercises: generator with a tensor if before a yield; consumed by a for
rows: 57
"""

import paddle


def pieces(x, size):
    for start in range(0, x.shape[0], size):
        piece = x[start : start + size]
        if piece.sum() > 5:
            piece = piece / piece.sum()
        yield piece
    yield x[:size] * 0 + 1


def folded(x, size):
    out = paddle.zeros([size])
    for piece in pieces(x, size):
        out = out * 0.5 + piece
    return out


def build():
    return folded


def inputs():
    x = paddle.to_tensor([1.0, 2.0, 3.0, 4.0])
    yield x, 2
    yield -x, 2
    yield x, 4
