"""An argument is handed through untouched beside a result.

exercises: argument returned as it is; argument and result in one tuple
rows: 91
"""

import paddle


def passthrough(x, y):
    if y.sum() > 0:
        z = x * y
    else:
        z = y
    return x, z, y


def build():
    return passthrough


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    yield x, x * 3
    yield x, -x
