"""A helper adds up any number of tensors, with a weight for each by keyword.

exercises: *args and **kwargs in a helper; tensor if over them
rows: 54
"""

import paddle


def combine(first, *others, scale=1.0, **weights):
    out = first * scale
    for i, other in enumerate(others):
        weight = weights.get(f"w{i}", 1.0)
        if other.sum() > 0:
            out = out + other * weight
    return out, len(others), sorted(weights)


def run(x, y):
    return combine(x), combine(x, y, x, w1=2.0), combine(x, y, scale=3.0, w0=y.mean(), extra=1)


def build():
    return run


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    yield x, x * 2
    yield x, -x
