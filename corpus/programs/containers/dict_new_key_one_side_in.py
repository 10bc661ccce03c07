"""A cached value is used only if there is one.

exercises: new key on one side of a tensor branch, tested with `in`
rows: 80
"""

import paddle


def cached(x):
    cache = {}
    if x.sum() > 0:
        cache["sqrt"] = paddle.sqrt(x.sum())
    if "sqrt" in cache:
        x = x / cache["sqrt"]
    return x


def build():
    return cached


def inputs():
    yield (paddle.to_tensor([1.0, 3.0]),)
    yield (paddle.to_tensor([-1.0, -3.0]),)
