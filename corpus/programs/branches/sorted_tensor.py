"""The entries of a vector in order, by Python's sorted.

exercises: sorted of a tensor; index and len of the result
rows: 15
"""

import paddle


def trimmed(x):
    ordered = sorted(x)
    return ordered[1] * 2 + ordered[-1], len(ordered)


def build():
    return trimmed


def inputs():
    for x in ([3.0, 1.0, 7.0], [1.0, 2.0, 4.0], [9.0, 5.0, 1.0]):
        yield (paddle.to_tensor(x),)
