"""Whether a token is known, returned as a value beside the scaled row.

exercises: value of tensor in list; value of not in; not of it
rows: 14
"""

import paddle


def known(token, x):
    seen = token in [1, 2]
    unseen = token not in [1, 2]
    if seen:
        x = x * 2
    return x, seen, unseen, not seen


def build():
    return known


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    for token in (2, 7, 1):
        yield paddle.to_tensor(token), x
