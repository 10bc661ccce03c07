"""The first n rows and the n-th layer, n being a tensor cast to an int.

exercises: int() of a tensor as range bound, list index, slice bound, repeat count and shape
rows: 65
"""

import paddle


def use_count(x, n):
    k = int(n)
    total = paddle.zeros([3])
    for i in range(k):
        total = total + x[i]
    factors = [1.0, 10.0, 100.0, 1000.0]
    total = total * factors[k]
    rows = paddle.ones([k, 2])
    return total, x[:k].sum(), x[k], rows.sum() * x.mean()


def build():
    return use_count


def inputs():
    x = paddle.arange(12, dtype="float32").reshape([4, 3])
    for n in (0, 1, 3, 2):
        yield x, paddle.to_tensor(n)
