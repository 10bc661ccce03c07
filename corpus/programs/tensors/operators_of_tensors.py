"""Every arithmetic operator once.

exercises: ** // % @ with tensors and with numbers on either side; unary minus; reflected operators
rows: 70
"""

import paddle


def mix(a, b):
    c = a**2 + 2**b - 1 / a
    d = (a // 2) + (7 % b) + (a % b) + 10 // b
    e = a @ b
    if e > 10:
        e = -e
    return c, d, e, 1 - a, +e


def build():
    return mix


def inputs():
    b = paddle.to_tensor([2.0, 3.0])
    yield paddle.to_tensor([1.5, 2.5]), b
    yield paddle.to_tensor([4.5, -2.5]), b
