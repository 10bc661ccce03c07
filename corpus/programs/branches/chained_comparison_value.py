"""A chained comparison kept as a value, returned and multiplied.

exercises: chained comparison as a value
rows: 13
"""

import paddle


def inside(x, low, high):
    ok = low < x < high
    three = 0 < low < x < high
    return x * ok.astype("float32"), ok, three


def build():
    return inside


def inputs():
    low, high = paddle.to_tensor(2.0), paddle.to_tensor(4.0)
    for x in (1.0, 3.0, 5.0):
        yield paddle.to_tensor(x), low, high
