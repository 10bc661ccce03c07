"""Candidates are ordered by their norm, which only the tensors know.

exercises: sorted with a key function that gives a tensor; max with such a key
rows: 15, 55
"""

import paddle


def norm(x):
    return (x * x).sum()


def ranked(parts):
    order = sorted(parts, key=norm)
    return order[0] * 2, order[-1] - max(parts, key=lambda p: p.max())


def build():
    return ranked


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    yield ([x, x * 0.5, x * 3],)
    yield ([x * 3, x, -x * 5],)
