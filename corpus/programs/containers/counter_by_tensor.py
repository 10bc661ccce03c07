"""Votes counted in a Counter, one of which a tensor decides.

exercises: Counter items counted up in a tensor branch
rows: 80
"""

from collections import Counter

import paddle


def vote(x):
    votes = Counter(["yes", "no"])
    if x.sum() > 0:
        votes["yes"] += 1
    else:
        votes["no"] += 2
    return x * votes["yes"] - votes["no"]


def build():
    return vote


def inputs():
    yield (paddle.to_tensor([1.0, 2.0]),)
    yield (paddle.to_tensor([-1.0, -2.0]),)
