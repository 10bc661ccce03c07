"""A named first parameter, one with a default, and then any number of tensors.

exercises: positional, default and *args together at the entry
rows: 92
"""

import paddle


def weighted(x, scale=2.0, *others):
    out = x * scale
    for i, other in enumerate(others):
        out = out + other / (i + 1) if other.mean() > 0 else out - other
    return out, len(others)


def build():
    return weighted


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    yield (x,)
    yield x, 3.0
    yield x, paddle.to_tensor(0.5), x, -x
    yield x, paddle.to_tensor(0.5), -x, x
