"""Layers of a list are kept by a Python predicate, the rest of the work has a tensor condition.

exercises: filter with a predicate on Python values; filter with None
rows: 55
"""

import paddle


def long_enough(entry):
    return entry is not None and len(entry) > 1


def pool(parts):
    kept = list(filter(long_enough, parts))
    if kept[0].sum() > 0:
        scale = 2.0
    else:
        scale = 0.5
    flags = list(filter(None, [0, 1, 2]))
    return sum(p.mean() for p in kept) * scale * len(flags), len(kept)


def build():
    return pool


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    yield ([x, None, x * 3, paddle.to_tensor([9.0])],)
    yield ([-x, x],)
