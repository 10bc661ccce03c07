"""A ratio that is the plain number zero when it has no meaning.

exercises: Python float on one path, Python int on another, tensor on the third
rows: 45
"""

import paddle


def ratio(a, b):
    if b.abs() < 1e-6:
        return 0.0
    if a == b:
        return 1
    return a / b


def build():
    return ratio


def inputs():
    for a, b in ((3.0, 2.0), (3.0, 0.0), (2.0, 2.0)):
        yield paddle.to_tensor(a), paddle.to_tensor(b)
