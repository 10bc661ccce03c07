"""Normalise in place.

exercises: add_, scale_, clip_, subtract_, exp_, fill_, zero_ on local tensors; chained
rows: 88
"""

import paddle


def normalise(x):
    y = x * 1
    y.subtract_(x.max())
    y.scale_(0.5).clip_(-3.0, 3.0)
    y.exp_()
    total = y.sum()
    rest = paddle.empty([2])
    rest.zero_()
    mask = paddle.ones([2])
    mask.fill_(0.25)
    return y / total, rest + mask


def build():
    return normalise


def inputs():
    yield (paddle.to_tensor([1.0, 2.0, 3.0]),)
    yield (paddle.to_tensor([10.0, -2.0, 3.0]),)
