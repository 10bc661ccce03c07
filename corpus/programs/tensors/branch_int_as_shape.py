"""Pad with as many zeros as a branch says.

exercises: python int from a branch in a shape and as a slice bound
rows: 69
"""

import paddle


def pad(x):
    if x.sum() > 0:
        width = 2
    else:
        width = 3
    y = paddle.concat([x, paddle.zeros([width])])
    return y, x[:width].sum(), paddle.full([width, 1], 1.5)


def build():
    return pad


def inputs():
    yield (paddle.to_tensor([1.0, 2.0, 5.0, 1.0]),)
    yield (paddle.to_tensor([-1.0, -2.0, -3.0, 2.0]),)
