"""Pad a sequence or cut it: the sides give the same rank and other lengths.

exercises: tensors of other shape and equal rank from branches; shape used afterwards
rows: 8
"""

import paddle


def fit_length(x, cut):
    if cut > 0:
        y = x[:, :2]
    else:
        y = paddle.concat([x, paddle.zeros([2, 1])], axis=1)
    return y * 2, y.sum(axis=1), y.shape[0]


def build():
    return fit_length


def inputs():
    x = paddle.to_tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    for cut in (1, 0, 2):
        yield x, paddle.to_tensor(cut)
