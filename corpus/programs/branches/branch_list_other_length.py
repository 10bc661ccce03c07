"""A pyramid of one or three levels; how many, a tensor decides.

exercises: lists of other length in branches; len of it; concat of it; iteration
rows: 78
"""

import paddle


def pyramid(x, deep):
    if deep > 0:
        levels = [x, x * 2, x * 4]
    else:
        levels = [x]
    joined = paddle.concat(levels)
    total = 0.0
    for level in levels:
        total = total + level.sum()
    return joined.sum(), total, len(levels)


def build():
    return pyramid


def inputs():
    x = paddle.to_tensor([0.5, 1.0])
    for deep in (1, 0, 2):
        yield x, paddle.to_tensor(deep)
