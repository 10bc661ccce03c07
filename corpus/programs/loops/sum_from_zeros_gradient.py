"""A sum that starts from zeros, over a number of trips that is a tensor.

exercises: loop variable that starts without a gradient and gets one in the body
rows: 17, 26
"""

import paddle


def repeated(x, n):
    s = paddle.zeros([2])
    for _ in range(n):
        s = s + x * 2
    return s


def build():
    return repeated


def inputs():
    for n in (3, 0, 1):
        yield paddle.to_tensor([1.0, 3.0]), paddle.to_tensor(n)
