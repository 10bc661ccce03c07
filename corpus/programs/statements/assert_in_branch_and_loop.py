"""Checks along a path.

exercises: assert in a tensor branch, in a tensor loop and in a helper, with and without a message
rows: 61
"""

import paddle

RAISES = {2: AssertionError, 3: AssertionError, 4: AssertionError}


def positive(x):
    assert x > 0, "must be positive"
    return x


def walk(x, step):
    if x > 10:
        assert step > 1, "too slow"
    while x > 1:
        assert step != 0
        x = x - step
    return positive(x)


def build():
    return walk


def inputs():
    yield paddle.to_tensor(5.0), paddle.to_tensor(0.75)
    yield paddle.to_tensor(11.0), paddle.to_tensor(2.0)
    yield paddle.to_tensor(11.5), paddle.to_tensor(0.5)
    yield paddle.to_tensor(5.0), paddle.to_tensor(0.0)
    yield paddle.to_tensor(-5.0), paddle.to_tensor(0.0)
