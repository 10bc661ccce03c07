"""Newton's square root returns as soon as it is exact enough.

exercises: return in a tensor while; another return after the loop
rows: 43
"""

import paddle


def square_root(a, limit):
    guess = a
    trip = paddle.zeros([], "int64")
    while trip < limit:
        if (guess * guess - a).abs() < 1e-3:
            return guess, trip
        guess = (guess + a / guess) / 2
        trip = trip + 1
    return guess * 0 - 1, trip


def build():
    return square_root


def inputs():
    for a, limit in ((2.0, 10), (1.0, 10), (50.0, 2), (2.0, 0)):
        yield paddle.to_tensor(a), paddle.to_tensor(limit)
