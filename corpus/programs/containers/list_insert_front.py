"""Digits of a number, most significant first.

exercises: insert at the front in a tensor loop
rows: 76
"""

import paddle


def digits(n, base):
    found = []
    while n >= 1:
        found.insert(0, n % base)
        n = paddle.floor(n / base)
    found.insert(0, n * 0)
    return paddle.stack(found)


def build():
    return digits


def inputs():
    for n in (352.0, 0.0, 7.0):
        yield paddle.to_tensor(n), paddle.to_tensor(10.0)
