"""Tensors that are too large put their half at the end of the list being iterated.

exercises: append in a tensor branch to the list that the for loop iterates
rows: 33, 76
"""

import paddle


def split(parts, limit):
    total = paddle.zeros([])
    for part in parts:
        if part > limit:
            parts.append(part / 2)
        else:
            total = total * 2 + part
    return total


def build():
    return split


def inputs():
    for values in ([0.5, 1.0], [3.0, 1.0], [2.0, 3.0]):
        yield [paddle.to_tensor(v) for v in values], paddle.to_tensor(1.0)
