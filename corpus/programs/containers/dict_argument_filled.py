"""A function that writes its intermediate results into a dict of the caller.

exercises: new and existing keys of a dict argument assigned, in a branch too; the caller sees it
rows: 79
"""

import paddle


def forward(x, trace):
    trace["input"] = x * 1
    if x.sum() > 0:
        trace["peak"] = x.max()
    else:
        trace["peak"] = x.min()
    return x * trace["peak"]


def build():
    return forward


def inputs():
    for sign in (1.0, -1.0):
        yield paddle.to_tensor([1.0, 2.0]) * sign, {"peak": paddle.zeros([])}
