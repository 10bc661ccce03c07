"""One check with a message, and nothing else that could fail.

exercises: assert on a tensor; type and message of what it raises
rows: 61
"""

import paddle

RAISES = {1: AssertionError}


def checked(x):
    assert x.sum() > 0, "the sum must be positive"
    return x * 2


def build():
    return checked


def inputs():
    yield (paddle.to_tensor([1.0, 3.0]),)
    yield (paddle.to_tensor([-1.0, -3.0]),)
