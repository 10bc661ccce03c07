"""Split a batch of sequences into heads.

exercises: unpacking x.shape; x.shape[-1]; ndim; reshape and zeros by shape
rows: 89
"""

import paddle


def split_heads(x, heads):
    batch, length, width = x.shape
    if x.ndim == 3 and width % heads == 0:
        x = x.reshape([batch, length, heads, width // heads])
    *leading, last = x.shape
    mask = paddle.zeros(x.shape)
    if x.sum() > 0:
        mask = paddle.ones(x.shape[:-1] + [1])
    return x * mask, len(x.shape), leading, last, x.shape[-1]


def build():
    return split_heads


def inputs():
    x = paddle.arange(12, dtype="float32").reshape([2, 1, 6])
    yield x, 2
    yield -x, 2
    yield x, 4
