"""Clamp with Python's min and max over tensors.

exercises: min and max of several tensors; of a list; nested
rows: 15
"""

import paddle


def clamp(x, low, high):
    inside = max(low, min(x, high))
    least = min([x, low, high])
    return inside * 2, least


def build():
    return clamp


def inputs():
    low, high = paddle.to_tensor(1.0), paddle.to_tensor(4.0)
    for x in (0.5, 2.0, 9.0):
        yield paddle.to_tensor(x), low, high
