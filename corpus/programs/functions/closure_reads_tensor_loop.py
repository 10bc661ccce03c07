"""A residual that an inner function computes from variables of a tensor while.

exercises: closure over loop variables of a tensor while; called in its condition and body
rows: 52
"""

import paddle


def solve(a, b, limit):
    x = paddle.zeros_like(b)
    trip = paddle.zeros([], "int64")

    def residual():
        return b - a * x

    while residual().abs().max() > 0.1 and trip < limit:
        x = x + 0.3 * residual()
        trip = trip + 1
    return x, residual(), trip


def build():
    return solve


def inputs():
    a, b = paddle.to_tensor([1.0, 2.0]), paddle.to_tensor([1.0, -1.0])
    for limit in (10, 1, 0):
        yield a, b, paddle.to_tensor(limit)
    yield a, b * 0.01, paddle.to_tensor(10)
