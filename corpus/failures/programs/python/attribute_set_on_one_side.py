"""An attribute is made on one side of a branch only."""

import paddle


class Cache:
    pass


def remember(x):
    cache = Cache()
    if x.sum() > 0:
        cache.value = x
    return cache.value * 2  # <- fails


def main(to_static):
    static = to_static(remember)
    static(paddle.to_tensor([1.0]))
    static(paddle.to_tensor([-1.0]))
