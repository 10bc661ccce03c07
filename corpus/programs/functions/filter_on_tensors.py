"""Predictions with a positive mean are kept and averaged.

exercises: filter whose predicate is a tensor condition; length of what is kept
rows: 15, 55
"""

import paddle


def mean_of_positive(parts):
    kept = list(filter(lambda p: p.mean() > 0, parts))
    if len(kept) == 0:
        return parts[0] * 0, 0
    return sum(kept) / len(kept), len(kept)


def build():
    return mean_of_positive


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    yield ([x, -x, x * 3],)
    yield ([-x, -x, x],)
    yield ([-x, -x, -x],)
