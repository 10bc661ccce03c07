"""Arguments gathered and spread.

exercises: *args and **kwargs in calls, literals and merges; keyword-only; unpacked dict and list
rows: 91
"""

import paddle


def affine(x, scale, *, shift=0.0, **rest):
    if x.sum() > 0:
        return x * scale + shift
    return x - scale - len(rest)


def spread(x, options):
    args = [x, *(2.0,)]
    merged = {"shift": 1.0, **options, "extra": 3}
    return affine(*args, **merged), affine(x, **{"scale": 0.5}), [*args, *range(2)], merged


def build():
    return spread


def inputs():
    for x in ([1.0, 2.0], [-1.0, -2.0]):
        yield paddle.to_tensor(x), {"shift": 4.0}
        yield paddle.to_tensor(x), {}
