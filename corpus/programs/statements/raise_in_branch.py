"""A logarithm that refuses what it cannot take.

exercises: raise in a tensor branch, uncaught, with a message
rows: 59
"""

import paddle

RAISES = {1: ValueError}


def safe_log(x):
    if x.min() <= 0:
        raise ValueError("log of a number that is not positive")
    return paddle.log(x)


def build():
    return safe_log


def inputs():
    yield (paddle.to_tensor([1.0, 2.0]),)
    yield (paddle.to_tensor([-1.0, 2.0]),)
    yield (paddle.to_tensor([3.0, 2.0]),)
