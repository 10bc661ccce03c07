"""Vote of several heads: any, all over lists of tensor comparisons.

exercises: any and all over a list; as condition; as value; with Python values; empty list
rows: 15
"""

import paddle


def vote_of(heads, limit):
    votes = [head > limit for head in heads]
    y = heads[0]
    if all(votes):
        y = y * 2
    elif any(votes):
        y = y + 10
    return y, any(votes), all(votes), any([]), all([])


def build():
    return vote_of


def inputs():
    limit = paddle.to_tensor(1.0)
    for row in ((2.0, 3.0), (0.5, 3.0), (0.5, 0.25), (3.0, 0.1)):
        yield [paddle.to_tensor(v) for v in row], limit
