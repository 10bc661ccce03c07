"""A solver written as a generator; its user stops when the error is small.

exercises: generator whose own tensor state changes between yields; consumed by zip with a range
rows: 32
"""

import paddle


def iterates(x, a):
    while True:
        x = (x + a / x) * 0.5
        yield x


def root(x, a, tolerance):
    for _, y in zip(range(5), iterates(x, a)):
        if (y * y - a).abs() < tolerance:
            break
    return y


def build():
    return root


def inputs():
    for tolerance in (99.0, 0.1, 0.0):
        yield paddle.to_tensor(3.0), paddle.to_tensor(2.0), paddle.to_tensor(tolerance)
