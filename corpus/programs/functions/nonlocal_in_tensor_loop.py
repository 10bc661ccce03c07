"""An inner function counts and shrinks variables of its parent in a tensor while.

exercises: nonlocal assigned in a tensor while; the inner loop runs in two calls
rows: 53
"""

import paddle


def shrink_twice(x, bound):
    trips = paddle.zeros([], "int64")
    total = x

    def shrink(limit):
        nonlocal total, trips
        while total.abs().max() > limit:
            total = total * 0.5
            trips = trips + 1
        return total.sum()

    first = shrink(bound * 2)
    second = shrink(bound)
    return first, second, total, trips


def build():
    return shrink_twice


def inputs():
    x = paddle.to_tensor([1.0, -8.0])
    for bound in (1.0, 3.0, 10.0):
        yield x, paddle.to_tensor(bound)
