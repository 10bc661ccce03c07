"""A window around a position that a tensor gives.

exercises: slices with tensor bounds; index by 0-D tensor; negative steps; newaxis
rows: 69, 87
"""

import paddle


def window(x, centre):
    left = x[:centre]
    right = x[centre + 1 :]
    turned = x[::-1]
    pair = x[centre - 1 : centre + 1]
    if left.sum() > right.sum():
        return x[centre] * 2, turned[:2], pair
    return -x[centre], turned[1:3], pair


def build():
    return window


def inputs():
    x = paddle.to_tensor([1.0, 2.0, 3.0, 4.0, 5.0])
    yield x, paddle.to_tensor(1)
    yield x, paddle.to_tensor(4)
    yield x, paddle.to_tensor(2)
