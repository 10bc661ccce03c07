"""The length of a label from a branch scales the row.

exercises: len of a string from a branch
rows: 5
"""

import paddle


def padded_width(x):
    kind = "neg"
    if x.sum() >= 0:
        kind = "positive"
    return x * len(kind)


def build():
    return padded_width


def inputs():
    for x in ([1.0, 2.0], [-1.0, -2.0], [3.0, -3.0]):
        yield (paddle.to_tensor(x),)
