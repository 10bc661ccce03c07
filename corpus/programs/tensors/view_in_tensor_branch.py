"""A view made before a branch is written inside the branch.

exercises: write through a view inside a tensor if
rows: 88
"""

import paddle

GRAD = False  # a write through a view is not recorded for gradients of the whole


def clear_head(x):
    y = x * 1
    head = y[:2]
    if x.sum() > 3:
        head.zero_()
    else:
        head[0] = -1.0
    return y + 1, head


def build():
    return clear_head


def inputs():
    yield (paddle.to_tensor([1.0, 2.0, 3.0]),)
    yield (paddle.to_tensor([1.0, 1.0, -3.0]),)
