"""Features of a sample: one of two, depending on its sign.

exercises: append on both sides of a tensor branch
rows: 76
"""

import paddle


def features(x):
    found = [x.sum()]
    if x.sum() > 0:
        found.append(x.max())
    else:
        found.append(x.min())
        found[0] = -found[0]
    return paddle.stack(found), len(found)


def build():
    return features


def inputs():
    yield (paddle.to_tensor([1.0, 2.0]),)
    yield (paddle.to_tensor([-1.0, -2.0]),)
