"""Python's min and max applied to a vector.

exercises: max(tensor); min(tensor); sum(tensor); used in a condition
rows: 15
"""

import paddle


def spread(x):
    high, low = max(x), min(x)
    if high - low > 2:
        x = x / (high - low)
    return x, high, sum(x)


def build():
    return spread


def inputs():
    for x in ([1.0, 2.0, 1.5], [4.0, 1.0, 0.0], [-1.0, -1.0, -1.0]):
        yield (paddle.to_tensor(x),)
