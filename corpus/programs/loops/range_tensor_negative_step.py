"""Horner's rule from the highest coefficient down.

exercises: range(t, -1, -1) and range(t, a, -2)
rows: 26
"""

import paddle


def horner(coefficients, degree, x):
    value = paddle.zeros([])
    for i in range(degree, -1, -1):
        value = value * x + coefficients[i]
    even = paddle.zeros([])
    for i in range(degree, 0, -2):
        even = even + coefficients[i] * i
    return value, even


def build():
    return horner


def inputs():
    for degree in (3, 2, 0, -1):
        c = paddle.to_tensor([1.0, -2.0, 0.5, 3.0])
        yield c, paddle.to_tensor(degree), paddle.to_tensor(1.5)
