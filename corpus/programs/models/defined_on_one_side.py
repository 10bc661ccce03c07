"""A scale is computed on one path only and used on a later path that usually implies the first.

exercises: name bound in one branch and read later; UnboundLocalError when dygraph raises it
rows: 2, 3
"""

import paddle

RAISES = {3: UnboundLocalError}


def scaled(x, use):
    if x.max() > 1:
        scale = 1 / x.max()
        shown = scale * 100  # nobody reads it
    if use > 0:
        return x * scale
    return x


def build():
    return scaled


def inputs():
    no, yes = paddle.to_tensor(0), paddle.to_tensor(1)
    large, small = paddle.to_tensor([2.0, 4.0]), paddle.to_tensor([0.2, 0.4])
    yield large, yes
    yield large, no
    yield small, no
    yield small, yes
    yield large * 2, yes
