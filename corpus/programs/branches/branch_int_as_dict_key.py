"""A bucket number from a branch is the key of a table of scales.

exercises: python int from a branch as dict key; KeyError on one path
rows: 69
"""

import paddle

RAISES = {2: KeyError}

SCALES = {1: 0.5, 2: 4.0}


def scaled_by_bucket(x):
    bucket = 3
    if x.max() < 1:
        bucket = 1
    elif x.max() < 5:
        bucket = 2
    return x * SCALES[bucket]


def build():
    return scaled_by_bucket


def inputs():
    for x in ([0.5, 0.2], [2.0, 1.0], [9.0, 1.0], [0.1, 0.2]):
        yield (paddle.to_tensor(x),)
