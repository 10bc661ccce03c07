"""Backward substitution through a triangular system.

exercises: reversed(range(n)) with a Python and with a tensor bound
rows: 26, 30
"""

import paddle


def backward(x, n):
    for i in reversed(range(3)):
        x = x * 0.5 + i
        if x.sum() > 4:
            break
    total = paddle.zeros([])
    for i in reversed(range(n)):
        total = total * 0.5 + x[i]
    return x, total


def build():
    return backward


def inputs():
    for start, n in ((1.0, 2), (9.0, 1), (-9.0, 0), (3.0, 2)):
        yield paddle.to_tensor([start, 0.5]), paddle.to_tensor(n)
