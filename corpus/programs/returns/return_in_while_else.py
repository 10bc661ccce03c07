"""A fixed-point iteration that says in its else that it ran out of trips.

exercises: break and return in a tensor while; return in the else of the while
rows: 18, 43
"""

import paddle


def fixed_point(x, rate, trips):
    i = paddle.zeros([], "int64")
    while i < trips:
        new = paddle.cos(x) * rate
        if (new - x).abs() < 1e-2:
            return new
        if new.abs() > 3:
            x = new / 10
            break
        x = new
        i = i + 1
    else:
        return x - 100
    return x + 100


def build():
    return fixed_point


def inputs():
    x = paddle.to_tensor(1.0)
    for rate, trips in ((0.5, 20), (0.5, 1), (8.0, 20), (0.5, 0)):
        yield x, paddle.to_tensor(rate), paddle.to_tensor(trips)
