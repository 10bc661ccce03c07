"""A label from a branch is upper-cased and joined like any other string.

exercises: string from a branch; method, concatenation and slice of it, returned
rows: 5
"""

import paddle


def label(x):
    kind = "neg"
    if x.sum() >= 0:
        kind = "positive"
    title = kind.upper() + "!"
    return x * 2, title, kind[:3]


def build():
    return label


def inputs():
    for x in ([1.0, 2.0], [-1.0, -2.0], [3.0, -3.0]):
        yield (paddle.to_tensor(x),)
