"""Cool two bodies until both are below their bounds.

exercises: while on two tensor conditions joined by or
rows: 10, 17
"""

import paddle


def cool(a, b, rate):
    hours = paddle.zeros([], "int64")
    while a > 1.0 or b > 2.0:
        a = a * rate
        b = b * rate * rate
        hours = hours + 1
    return a, b, hours


def build():
    return cool


def inputs():
    for a, b in ((0.5, 1.0), (3.0, 1.0), (0.5, 9.0), (9.0, 5.0)):
        yield paddle.to_tensor(a), paddle.to_tensor(b), paddle.to_tensor(0.6)
