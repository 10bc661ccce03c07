"""Damp or push, and damp repeatedly when the signal is far out.

exercises: while inside an if inside a while, all on tensors
rows: 1, 17
"""

import paddle


def control(x, n):
    i = paddle.zeros([], "int64")
    while i < n:
        if x > 2:
            while x > 1:
                x = x * 0.6
        else:
            x = x * 3 + 0.1
        i = i + 1
    return x


def build():
    return control


def inputs():
    for x, n in ((5.0, 3), (0.5, 4), (1.0, 0), (-1.0, 2)):
        yield paddle.to_tensor(x), paddle.to_tensor(n)
