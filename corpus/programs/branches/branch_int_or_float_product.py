"""Arithmetic on a Python number whose type a tensor decides; each result keeps Python's type.

exercises: python int against python float; arithmetic with Python numbers only; floor division
rows: 5
"""

import paddle


def budget(x, rich):
    if rich > 0:
        amount = 7
    else:
        amount = 7.5
    double = amount * 2
    half = amount // 2
    if x.sum() > 0:
        x = x * double
    return x, double, half


def build():
    return budget


def inputs():
    for value, rich in ((1.0, 1), (1.0, 0), (-1.0, 1), (-1.0, 0)):
        yield paddle.to_tensor([value]), paddle.to_tensor(rich)
