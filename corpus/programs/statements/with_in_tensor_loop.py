"""A loop whose steps run in a scope each.

exercises: with in a tensor while loop; break and continue out of the with
rows: 63
"""

from contextlib import nullcontext

import paddle


def walk(x, n):
    i = paddle.zeros([], dtype="int64")
    while i < n:
        i = i + 1
        with nullcontext(0.5) as factor:
            if x > 20:
                break
            if i == 2:
                continue
            x = x * 3 - factor
        x = x + 1
    return x, i


def build():
    return walk


def inputs():
    for n in (0, 1, 2, 9):
        yield paddle.to_tensor(1.0), paddle.to_tensor(n)
