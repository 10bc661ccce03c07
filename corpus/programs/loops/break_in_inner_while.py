"""Bring each row below a bound by halving, but give up after some halvings.

exercises: inner while with break inside a while; the inner counter starts again
rows: 38
"""

import paddle


def tame(x, rows, bound):
    i = paddle.zeros([], "int64")
    total = paddle.zeros([])
    while i < rows:
        row = x[i]
        tries = 0
        while row > bound:
            row = row * 0.5
            tries = tries + 1
            if tries == 3:
                break
        total = total + row * (i + 1)
        i = i + 1
    return total


def build():
    return tame


def inputs():
    for bound, rows in ((1.0, 3), (100.0, 3), (3.0, 2), (3.0, 0)):
        yield paddle.to_tensor([2.0, 50.0, 0.5]), paddle.to_tensor(rows), paddle.to_tensor(bound)
