"""A norm whose entry point itself is decorated and takes any number of arguments.

exercises: *args at the entry; the converted function is a functools.wraps wrapper
rows: 92, 93
"""

import functools

import paddle


def at_least_one(fn):
    @functools.wraps(fn)
    def wrapper(*args):
        out = fn(*args)
        return out if out > 1 else out / out.detach()

    return wrapper


@at_least_one
def norm(*parts):
    total = sum((p * p).sum() for p in parts)
    if total > 100:
        total = total / 100
    return paddle.sqrt(total)


def build():
    return norm


def inputs():
    a = paddle.to_tensor([1.0, 2.0])
    yield a, a * 2
    yield (a * 0.1,)
    yield a * 10, a * 2
    yield (a,)
