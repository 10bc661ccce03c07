"""A bilinear form and its symmetrised matrix.

exercises: x.T, einsum, astype, x.mT-free transposes, matmul in branches
rows: 1
"""

import paddle


def bilinear(x, w):
    sym = (w + w.T) / 2
    value = paddle.einsum("i,ij,j->", x, sym, x)
    if value < 0:
        value = (x @ w @ x).astype("float64")
        return value.astype(x.dtype)
    return value + paddle.einsum("ij->", w.transpose([1, 0]))


def build():
    return bilinear


def inputs():
    w = paddle.to_tensor([[1.0, 2.0], [0.5, -3.0]])
    yield paddle.to_tensor([1.0, 0.5]), w
    yield paddle.to_tensor([0.1, 2.0]), w
