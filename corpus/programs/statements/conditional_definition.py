"""A helper that exists in two versions.

exercises: def in both tensor branches; called after the branch
rows: 52
"""

import paddle


def versions(x):
    if x.sum() > 0:

        def shape(v):
            return v * 2

    else:

        def shape(v):
            return v - 1

    return shape(x) + shape(x + 1)


def build():
    return versions


def inputs():
    yield (paddle.to_tensor([1.0, 2.0]),)
    yield (paddle.to_tensor([-1.0, -2.0]),)
