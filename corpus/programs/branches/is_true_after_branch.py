"""A flag set in a branch is asked with `is True` and `is not False`.

exercises: is True of a bool from a branch; as condition and as value
rows: 81
"""

import paddle


def improved_once(x, limit):
    improved = False
    if x.sum() > limit:
        x = x * 0.5
        improved = True
    if improved is True:
        x = x - 1
    return x, improved is not False


def build():
    return improved_once


def inputs():
    limit = paddle.to_tensor(2.0)
    for x in ([1.0, 2.0], [0.5, 0.5], [4.0, 4.0]):
        yield paddle.to_tensor(x), limit
