"""Defaults of every kind: number, string, None, tuple, tensor.

exercises: default values at the entry; None replaced in the body
rows: 91
"""

import paddle


def pool(x, size=2, kind="mean", mask=None, axes=(0,), bias=paddle.to_tensor(1.0)):  # noqa: B008
    if mask is None:
        mask = paddle.ones_like(x)
    x = x * mask * size
    if x.sum() > 3:
        x = x.mean(axis=axes) if kind == "mean" else x.max(axis=axes)
    else:
        x = x.sum(axis=axes)
    return x + bias


def build():
    return pool


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    yield (x,)
    yield (-x,)
    yield x, 3, "max"
    yield x, 1, "mean", x * 0.5, (0,), x.sum()
