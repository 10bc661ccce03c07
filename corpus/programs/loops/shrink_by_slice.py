"""Fold a vector in halves until it is short.

exercises: loop variable whose length shrinks; condition on len and on a tensor
rows: 22
"""

import paddle


def fold(x, length):
    while x.shape[0] > length:
        half = x.shape[0] // 2
        x = x[:half] + x[half : 2 * half]
    return x


def build():
    return fold


def inputs():
    for length in (8, 4, 1):
        yield paddle.arange(8, dtype="float32") + 1, paddle.to_tensor(length)
