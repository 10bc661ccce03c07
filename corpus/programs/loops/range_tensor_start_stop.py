"""Sum the entries of a window.

exercises: range(a, t) and range(t, t) used as indices of a tensor
rows: 26
"""

import paddle


def window(x, start, stop):
    total = paddle.zeros([])
    for i in range(start, stop):
        total = total + x[i] * x[i]
    for i in range(1, stop):
        total = total + x[i]
    return total


def build():
    return window


def inputs():
    for start, stop in ((0, 4), (1, 2), (2, 2), (3, 1)):
        x = paddle.to_tensor([1.0, 2.0, 3.0, 4.0])
        yield x, paddle.to_tensor(start), paddle.to_tensor(stop)
