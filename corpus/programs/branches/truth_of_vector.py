"""A vector of several elements as a condition raises, as it does in dygraph.

exercises: if on a tensor with more than one element; AssertionError
rows: 16
"""

import paddle

RAISES = {1: AssertionError}


def ambiguous(x, bound):
    if x > bound:
        x = x * 2
    return x


def build():
    return ambiguous


def inputs():
    bound = paddle.to_tensor(1.0)
    yield paddle.to_tensor([2.0]), bound
    yield paddle.to_tensor([2.0, 0.5]), bound
    yield paddle.to_tensor([0.5]), bound
