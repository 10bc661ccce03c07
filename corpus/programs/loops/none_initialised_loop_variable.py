"""The maximum of the entries, None before the first one.

exercises: loop variable None before the loop, tested with is None in the body
rows: 24
"""

import paddle


def maximum(values):
    best = None
    for v in values:
        if best is None or v > best:
            best = v
    return best * 2


def build():
    return maximum


def inputs():
    yield (paddle.to_tensor([1.0, 3.0, 2.0]),)
    yield (paddle.to_tensor([3.0, 1.0, 2.0]),)
    yield (paddle.to_tensor([1.0, 2.0, 3.0]),)
