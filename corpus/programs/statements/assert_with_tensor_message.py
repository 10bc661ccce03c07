"""A check whose message shows numbers.

exercises: assert with an f-string of a tensor; with a tuple; with a tensor as the message
rows: 61
"""

import paddle

RAISES = {1: AssertionError, 2: AssertionError}


def normalised(p):
    total = p.sum()
    assert total > 0, f"the sum is {total.item():.1f}"
    assert p.max() < 10, ("too large", 10)
    return p / total


def build():
    return normalised


def inputs():
    yield (paddle.to_tensor([1.0, 3.0]),)
    yield (paddle.to_tensor([-1.0, 0.5]),)
    yield (paddle.to_tensor([1.0, 30.0]),)
