"""A guard that takes every failure for a bad input.

exercises: except Exception around a raise that a tensor decides
rows: 60
"""

import paddle


def guarded(x):
    try:
        if x.min() < 0:
            raise ValueError("negative")
        y = x + 1
    except Exception:
        y = -x
    return y


def build():
    return guarded


def inputs():
    yield (paddle.to_tensor([1.0, 2.0]),)
    yield (paddle.to_tensor([-1.0, 2.0]),)
