"""A refinement that may be missing.

exercises: contextlib.suppress around Python errors; code after the error skipped
rows: 63
"""

import contextlib

import paddle


def refined(x, table):
    y = x * 2
    with contextlib.suppress(KeyError, IndexError):
        y = y + table["shift"]
        y = y * table["scales"][1]
    if y.sum() > 0:
        y = y - 1
    return y


def build():
    return refined


def inputs():
    for x in ([1.0, 2.0], [-1.0, -2.0]):
        x = paddle.to_tensor(x)
        yield x, {}
        yield x, {"shift": 0.5}
        yield x, {"shift": 0.5, "scales": [1.0]}
        yield x, {"shift": 0.5, "scales": [1.0, 3.0]}
