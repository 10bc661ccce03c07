"""Add the terms of the exponential series until they no longer matter.

exercises: itertools.count with a tensor break; the count after the loop
rows: 32
"""

import itertools

import paddle


def exponential(x, tolerance):
    term = paddle.ones([])
    total = paddle.ones([])
    for n in itertools.count(1):
        term = term * x / n
        total = total + term
        if term.abs() < tolerance:
            break
    return total, n


def build():
    return exponential


def inputs():
    for x, tolerance in ((0.5, 9.0), (0.5, 0.1), (2.0, 1e-3)):
        yield paddle.to_tensor(x), paddle.to_tensor(tolerance)
