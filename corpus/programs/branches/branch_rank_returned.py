"""A summary or the whole row: the sides give other ranks and the value is returned.

exercises: tensors of other rank from branches, returned
rows: 8
"""

import paddle


def summary(x, short):
    if short > 0:
        out = x.sum()
    else:
        out = x * 2
    return out


def build():
    return summary


def inputs():
    x = paddle.to_tensor([1.0, 2.0, 3.0])
    for short in (1, 0, 2):
        yield x, paddle.to_tensor(short)
