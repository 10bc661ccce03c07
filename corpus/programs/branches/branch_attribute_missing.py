"""An attribute is read that only one path has created; the other path raises as Python does.

exercises: attribute newly created in one branch; AttributeError afterwards
rows: 84
"""

import paddle

RAISES = {1: AttributeError}


class Cache:
    pass


def from_cache(x):
    cache = Cache()
    if x.sum() > 0:
        cache.top = x.max()
    y = x * 3
    return y / cache.top


def build():
    return from_cache


def inputs():
    for x in ([1.0, 2.0], [-1.0, -2.0], [3.0, 2.0]):
        yield (paddle.to_tensor(x),)
