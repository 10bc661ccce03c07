"""A ratio that is missing, the plain number one, or a tensor.

exercises: None, int and tensor by path
rows: 45
"""

import paddle


def ratio(a, b):
    if b.abs() < 1e-6:
        return None
    if a == b:
        return 1
    return a / b


def build():
    return ratio


def inputs():
    for a, b in ((3.0, 2.0), (3.0, 0.0), (2.0, 2.0)):
        yield paddle.to_tensor(a), paddle.to_tensor(b)
