"""A global that the function reads and replaces.

exercises: global statement; assignment in the body and in a tensor branch
rows: 53
"""

import paddle

GRAD = False  # the state is the point; the loss would hang on a global of the call before
scale = 1.0
last = None


def BEFORE(index):  # noqa: N802
    global scale, last
    scale, last = 1.0 + index, None


OBSERVED = lambda: (scale, last)  # noqa: E731


def scaled(x):
    global scale, last
    y = x * scale
    scale = scale + 1
    if x.sum() > 0:
        last = y.sum()
    else:
        last = -y.sum()
    return y + last


def build():
    return scaled


def inputs():
    yield (paddle.to_tensor([1.0, 2.0]),)
    yield (paddle.to_tensor([-1.0, -2.0]),)
    yield (paddle.to_tensor([1.0, -2.0]),)
