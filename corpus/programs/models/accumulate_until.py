"""Double a vector until its norm passes a bound.

exercises: while True with a tensor break; code after the break in the body
rows: 19, 37
"""

import paddle


def grow(x, bound):
    trips = paddle.zeros([], "int64")
    while True:
        norm = (x * x).sum()
        if norm > bound:
            break
        x = x * 2
        trips = trips + 1
    return x, norm, trips


def build():
    return grow


def inputs():
    x = paddle.to_tensor([0.5, 0.25])
    yield x, paddle.to_tensor(10.0)
    yield x, paddle.to_tensor(0.1)
    yield x, paddle.to_tensor(0.5)
