"""The inner function is defined differently in the two branches of a tensor if.

exercises: def in each branch of a tensor if; called after it
rows: 52
"""

import paddle


def transform(x):
    if x.mean() > 0:
        scale = x.max()

        def apply(t):
            return t / scale
    else:

        def apply(t):
            return t + 1

    return apply(x) * 2


def build():
    return transform


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    yield (x,)
    yield (-x,)
