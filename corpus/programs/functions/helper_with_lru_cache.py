"""Coefficients are computed once by a cached helper of Python values.

exercises: functools.lru_cache helper; its result meets a tensor condition
rows: 54
"""

import functools

import paddle


@functools.lru_cache(maxsize=None)
def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def run(x, n):
    out = x * fibonacci(n)
    if out.sum() > 10:
        out = out / fibonacci(n + 1)
    return out


def build():
    return run


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    for n in (1, 2, 6):
        yield x, n
