"""Outputs of a feature pyramid in an OrderedDict.

exercises: OrderedDict filled in order, assigned in a tensor branch, move_to_end, returned
rows: 79
"""

from collections import OrderedDict

import paddle


def pyramid(x):
    levels = OrderedDict()
    for i in range(3):
        levels[f"p{i}"] = x * (i + 1)
    if x.sum() > 0:
        levels["p1"] = levels["p1"] + levels["p0"]
    else:
        levels["p2"] = levels["p0"] * 10
    levels.move_to_end("p0")
    return levels


def build():
    return pyramid


def inputs():
    yield (paddle.to_tensor([1.0, 2.0]),)
    yield (paddle.to_tensor([-1.0, -2.0]),)
