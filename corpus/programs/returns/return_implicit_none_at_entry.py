"""A peak finder whose entry ends without a return when there is no peak.

exercises: implicit None at the end of the entry; return in an inner if
rows: 42, 45
"""

import paddle


def peak(x, bound):
    top = x.max()
    if top > bound:
        scaled = top / bound
        if scaled < 10:
            return scaled


def build():
    return peak


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    yield x, paddle.to_tensor(1.5)
    yield x, paddle.to_tensor(3.0)
    yield x * 100, paddle.to_tensor(3.0)
