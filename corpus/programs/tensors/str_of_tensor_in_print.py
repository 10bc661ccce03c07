"""A line put together from parts and printed.

exercises: str() and repr() of a tensor, joined to text, in print
rows: 62, 71
"""

import paddle

ASSERT_STDOUT = True


def told(x):
    y = x * 2
    print("value " + str(y.sum()))
    if y.sum() > 1:
        print("large", repr(y))
    return y


def build():
    return told


def inputs():
    yield (paddle.to_tensor([1.0, 2.0]),)
    yield (paddle.to_tensor([0.25, 0.125]),)
