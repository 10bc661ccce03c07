"""A defaultdict whose entries are made in a branch.

exercises: new keys of a defaultdict in both sides and in one side of a tensor branch
rows: 80
"""

from collections import defaultdict

import paddle


def score(x):
    parts = defaultdict(lambda: paddle.zeros([2]))
    if x.sum() > 0:
        parts["gain"] += x
        parts["all"] = parts["all"] + x
    else:
        parts["all"] -= x
    return parts["all"] * 2 + parts["gain"]


def build():
    return score


def inputs():
    yield (paddle.to_tensor([1.0, 2.0]),)
    yield (paddle.to_tensor([-1.0, -2.0]),)
