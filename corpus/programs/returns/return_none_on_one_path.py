"""A crop that gives None when nothing is left.

exercises: explicit return None on one side of a tensor if
rows: 45
"""

import paddle


def crop(x, bound):
    if (x > bound).any():
        return paddle.clip(x, min=bound)
    return None


def build():
    return crop


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    yield x, paddle.to_tensor(1.5)
    yield x, paddle.to_tensor(3.0)
