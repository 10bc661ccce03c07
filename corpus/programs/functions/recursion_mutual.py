"""Even and odd layers call each other until the depth is spent.

exercises: mutual recursion on a Python depth; tensor if in both functions
rows: 56
"""

import paddle


def even(x, depth):
    if depth == 0:
        return x
    if x.sum() > 4:
        x = x / 4
    return odd(x * 2, depth - 1)


def odd(x, depth):
    if depth == 0:
        return -x
    return even(x + 1 if x.max() < 3 else x - 1, depth - 1)


def build():
    return even


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    for depth in (0, 1, 4):
        yield x, depth
        yield -x, depth
