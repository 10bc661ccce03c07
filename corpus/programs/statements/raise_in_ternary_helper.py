"""A helper that only raises, called in one side of a ternary.

exercises: raise inside a called helper, in a ternary on a tensor
rows: 59
"""

import paddle

RAISES = {1: ValueError}


def refuse(text):
    raise ValueError(text)


def root(x):
    y = paddle.sqrt(x) if x >= 0 else refuse("negative")
    return y + 1


def build():
    return root


def inputs():
    yield (paddle.to_tensor(4.0),)
    yield (paddle.to_tensor(-4.0),)
    yield (paddle.to_tensor(2.25),)
