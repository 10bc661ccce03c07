"""A scratch buffer reset in place.

exercises: zero_ and fill_ on a local tensor
rows: 88
"""

import paddle


def scratch(x):
    buffer = x * 2
    buffer.zero_()
    mask = paddle.ones([2])
    mask.fill_(0.25)
    if x.sum() > 0:
        return buffer + mask * x
    return buffer - mask * x


def build():
    return scratch


def inputs():
    yield (paddle.to_tensor([1.0, 2.0]),)
    yield (paddle.to_tensor([-1.0, -2.0]),)
