"""Running maxima and pairwise blends through itertools.

exercises: itertools.accumulate and itertools.starmap with functions that have a tensor if
rows: 55
"""

import itertools

import paddle


def larger(a, b):
    if a.sum() > b.sum():
        return a
    return b


def run(parts):
    running = list(itertools.accumulate(parts, larger))
    blended = itertools.starmap(lambda a, b: a - b if a.max() > 0 else b, itertools.pairwise(parts))
    return running, sum(blended)


def build():
    return run


def inputs():
    x = paddle.to_tensor([1.0, 2.0])
    yield ([x, -x, x * 3],)
    yield ([-x, x * 2, x],)
