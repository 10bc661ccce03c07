"""A module that remembers its last mean.

exercises: global statement; a global assigned a tensor without any branch
rows: 53
"""

import paddle

last = None


def BEFORE(index):  # noqa: N802
    global last
    last = None


OBSERVED = lambda: last  # noqa: E731


def centred(x):
    global last
    last = x.mean()
    if last > 1:
        return x - last
    return x


def build():
    return centred


def inputs():
    yield (paddle.to_tensor([1.0, 2.0]),)
    yield (paddle.to_tensor([-1.0, -2.0]),)
