"""Tensors as conditions without any comparison: floats, ints and bools.

exercises: if tensor; if not tensor; not t as value; one-element vectors
rows: 16
"""

import paddle


def truthy(x, count, flag):
    y = x * 2
    if x:
        y = y + 1
    if not count:
        y = y - 10
    if flag:
        y = y * 3
    if x.reshape([1]):
        y = y + 0.5
    return y, not x, not flag


def build():
    return truthy


def inputs():
    for x, count, flag in ((2.0, 0, True), (0.0, 3, False), (-1.0, 1, True), (0.0, 0, True)):
        yield paddle.to_tensor(x), paddle.to_tensor(count), paddle.to_tensor(flag)
