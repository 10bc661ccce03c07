"""A decorator of the same module that checks the result, with functools.wraps.

exercises: local module decorator with wraps; tensor if in wrapper and in function
rows: 52
"""

import functools

import paddle


def non_negative(fn):
    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        out = fn(*args, **kwargs)
        if out.min() < 0:
            out = out - out.min()
        return out

    return wrapper


@non_negative
def shift(x, by=1.0):
    return x - by if x.sum() > by else x + by


def run(x):
    return shift(x) + shift(x, by=3.0)


def build():
    return run


def inputs():
    x = paddle.to_tensor([1.0, 3.0])
    yield (x,)
    yield (-x,)
    yield (x * 0.5,)
