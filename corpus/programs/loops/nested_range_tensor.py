"""A triangular sum over two ranges with tensor bounds.

exercises: range(i) inside range(t); gradients through both loops
rows: 26
"""

import paddle


def triangle(x, n):
    total = paddle.zeros([])
    for i in range(n):
        for j in range(i):
            total = total + x[i] * x[j]
    return total


def build():
    return triangle


def inputs():
    for n in (4, 2, 1, 0):
        yield paddle.to_tensor([1.0, 2.0, -3.0, 0.5]), paddle.to_tensor(n)
