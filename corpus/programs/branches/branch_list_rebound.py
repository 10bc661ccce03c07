"""A list of features of one length, made differently on each side.

exercises: list rebound in a branch; indexed, iterated and returned afterwards
rows: 78
"""

import paddle


def features(x, mode):
    parts = [x, x]
    if mode > 0:
        parts = [x * 2, x.exp()]
    total = parts[0] * 0
    for part in parts:
        total = total + part
    return parts, total, len(parts)


def build():
    return features


def inputs():
    x = paddle.to_tensor([0.5, 1.0])
    for mode in (1, 0, 2):
        yield x, paddle.to_tensor(mode)
