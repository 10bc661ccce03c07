"""The converted function is decorated twice, with functools.wraps.

exercises: decorated function as the entry; tensor if in decorator and function
rows: 93
"""

import functools

import paddle


def non_negative(fn):
    @functools.wraps(fn)
    def wrapper(x, *args, **kwargs):
        out = fn(x, *args, **kwargs)
        if out.min() < 0:
            out = out - out.min()
        return out

    return wrapper


def repeated(times):
    def decorator(fn):
        @functools.wraps(fn)
        def wrapper(x, *args):
            for _ in range(times):
                x = fn(x, *args)
            return x

        return wrapper

    return decorator


@repeated(2)
@non_negative
def shift(x, by=1.0):
    return x - by if x.sum() > by else x + by


def build():
    return shift


def inputs():
    x = paddle.to_tensor([1.0, 3.0])
    yield (x,)
    yield (-x,)
    yield x, 3.0
